"""Votes between pairs (design arena, expert ratings): strengths by Bradley–Terry.

Votes of one voter, or on one task, are not independent: errors are clustered by both at once
(Cameron, Gelbach and Miller 2011). Where tasks themselves are compared there is nothing that they
are compared on: errors are then clustered by voter alone.

What sways votes beside the strengths (the side that something stood on, how long it was) may be
estimated with them, so that strengths are those at equal sway.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.compare import holm, tiers_of
from benchflow.analysis.estimate import Floats, Ints, NotEnoughData

#: Log-odds beyond this are no estimate: the votes leave no doubt, so the likelihood has no maximum.
_NO_MAXIMUM = 12.0


@dataclass(frozen=True)
class Sway:
    """How much a difference of 1 in something shifts the log-odds of a vote, at equal strengths."""

    name: str
    effect: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Strengths:
    """Log-odds strengths, mean 0, in the order of `names`, with intervals at `level`.

    `covariance`: of the strengths. `sways`: what was estimated beside them.
    """

    names: tuple[str, ...]
    strength: Floats
    error: Floats
    low: Floats
    high: Floats
    level: float
    n_votes: int
    n_voters: int
    n_tasks: int
    covariance: Floats
    sways: tuple[Sway, ...] = ()

    @property
    def freedom(self) -> int:
        """Degrees of freedom: of voters and tasks (where votes are on any) the fewer, minus 1."""
        return min(self.n_voters, self.n_tasks or self.n_voters) - 1

    def tiers(self) -> list[list[str]]:
        """Names in tiers, best first, as `compare.tiers` makes them: Holm over all pairs."""
        pairs = list(itertools.combinations(range(len(self.names)), 2))
        gaps = [self.strength[i] - self.strength[j] for i, j in pairs]
        cov = self.covariance
        spread = [np.sqrt(max(cov[i, i] + cov[j, j] - 2 * cov[i, j], 0.0)) for i, j in pairs]
        # Without a spread nothing can be said, however large the gap.
        ps = [_p(gap, error, self.freedom) for gap, error in zip(gaps, spread, strict=True)]
        shown = {
            (self.names[i], self.names[j]) if gap > 0 else (self.names[j], self.names[i])
            for (i, j), gap, p in zip(pairs, gaps, holm(ps), strict=True)
            if p < 1 - self.level
        }
        ranked = sorted(range(len(self.names)), key=lambda i: (-self.strength[i], self.names[i]))
        return tiers_of([self.names[i] for i in ranked], shown)


def bradley_terry(
    winners: Sequence[str],
    losers: Sequence[str],
    voters: Sequence[str],
    tasks: Sequence[str] | None = None,
    level: float = 0.95,
    sways: Mapping[str, Sequence[float]] | None = None,
) -> Strengths:
    """Strengths from votes (equal lengths: who won, who lost, who voted, on which task; without
    `tasks` errors are clustered by voter alone, and `n_tasks` is 0).

    `sways`: of each vote, the winner's amount of something minus the loser's.

    Raises NotEnoughData when fewer than two names, voters or tasks are there, when some of the
    names never won, or never lost, against the rest (no finite strength), or when a sway cannot be
    told from the strengths; ValueError when lengths differ.
    """
    more = {} if sways is None else dict(sways)
    clusters = [voters] if tasks is None else [voters, tasks]
    if len({len(winners), len(losers), *map(len, clusters), *map(len, more.values())}) > 1:
        raise ValueError("winners, losers, voters, tasks and sways differ in length")
    names = tuple(sorted({*winners, *losers}))
    if len(names) < 2 or any(len(set(column)) < 2 for column in clusters):
        raise NotEnoughData("votes need two names, two voters and two tasks or more")
    if set(winners) != set(names) or set(losers) != set(names):
        raise NotEnoughData("somebody never won or never lost: no finite strength")
    index = {name: i for i, name in enumerate(names)}
    if not _all_beat_all(index, winners, losers):
        raise NotEnoughData("some never won, or never lost, against the rest: no finite strength")
    design = np.zeros((len(winners), len(names)))
    design[np.arange(len(winners)), [index[w] for w in winners]] = 1.0
    design[np.arange(len(losers)), [index[x] for x in losers]] -= 1.0
    groups = np.column_stack([np.unique(c, return_inverse=True)[1] for c in clusters]).squeeze()
    # Sum to zero: the last strength is minus the sum of the others.
    contrast = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])
    columns = [design @ contrast, *(np.asarray(amounts, float) for amounts in more.values())]
    effects, covariance = _fitted(np.column_stack(columns), groups)
    own = len(names) - 1
    strength = contrast @ effects[:own]
    spread = contrast @ covariance[:own, :own] @ contrast.T
    error = np.sqrt(np.maximum(np.diag(spread), 0))
    freedom = min(len(set(column)) for column in clusters) - 1
    quantile = float(stats.t.ppf((1 + level) / 2, freedom))
    swayed = [
        _sway(name, float(effects[at]), float(covariance[at, at]), quantile, freedom)
        for at, name in enumerate(more, own)
    ]
    return Strengths(
        names=names,
        strength=strength,
        error=error,
        low=strength - quantile * error,
        high=strength + quantile * error,
        level=level,
        n_votes=len(winners),
        n_voters=len(set(voters)),
        n_tasks=len(set(tasks or ())),
        covariance=spread,
        sways=tuple(swayed),
    )


def _fitted(design: Floats, groups: Ints) -> tuple[Floats, Floats]:
    """Effects and their covariance, clustered by both columns of `groups`."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise NotEnoughData("what sways votes cannot be told from the strengths")
    # Every second vote is turned round, since a response that is always 1 has no variance.
    turned = np.arange(len(design)) % 2 == 1
    sign = np.where(turned, -1.0, 1.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on separation, which is what is looked for below
        fitted = GLM((~turned).astype(float), design * sign, family=Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": groups}
        )
    effects, covariance = np.asarray(fitted.params), np.asarray(fitted.cov_params())
    if not np.isfinite(covariance).all() or np.abs(design @ effects).max() > _NO_MAXIMUM:
        raise NotEnoughData("the votes leave no doubt: no finite strength")
    return effects, covariance


def _sway(name: str, effect: float, variance: float, quantile: float, freedom: int) -> Sway:
    error = max(variance, 0.0) ** 0.5
    low, high = effect - quantile * error, effect + quantile * error
    return Sway(name, effect, low, high, _p(effect, error, freedom))


def _p(value: float, error: float, freedom: int) -> float:
    return float(2 * stats.t.sf(abs(value) / error, freedom)) if error > 0 else 1.0


def _all_beat_all(index: dict[str, int], winners: Sequence[str], losers: Sequence[str]) -> bool:
    """Whether a chain of victories leads from each to each (Ford 1957): else the likelihood has no
    maximum."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    places = ([index[w] for w in winners], [index[x] for x in losers])
    won = coo_array((np.ones(len(winners)), places), shape=(len(index), len(index)))
    return int(connected_components(won, connection="strong")[0]) == 1

"""Votes between pairs (design arena, expert ratings): strengths by Bradley–Terry.

Votes of one voter, or on one task, are not independent: errors are clustered by both at once
(Cameron, Gelbach and Miller 2011). Where tasks themselves are compared there is nothing that they
are compared on: errors are then clustered by voter alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.estimate import Floats, NotEnoughData


@dataclass(frozen=True)
class Strengths:
    """Log-odds strengths, mean 0, in the order of `names`, with intervals at `level`."""

    names: tuple[str, ...]
    strength: Floats
    error: Floats
    low: Floats
    high: Floats
    level: float
    n_votes: int
    n_voters: int
    n_tasks: int


def bradley_terry(
    winners: Sequence[str],
    losers: Sequence[str],
    voters: Sequence[str],
    tasks: Sequence[str] | None = None,
    level: float = 0.95,
) -> Strengths:
    """Strengths from votes (equal lengths: who won, who lost, who voted, on which task; without
    `tasks` errors are clustered by voter alone, and `n_tasks` is 0).

    Raises NotEnoughData when fewer than two names, voters or tasks are there, or when some of the
    names never won, or never lost, against the rest (no finite strength), ValueError when lengths
    differ.
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    clusters = [voters] if tasks is None else [voters, tasks]
    if any(len(column) != len(winners) for column in (losers, *clusters)):
        raise ValueError("winners, losers, voters and tasks differ in length")
    names = tuple(sorted({*winners, *losers}))
    if len(names) < 2 or any(len(set(column)) < 2 for column in clusters):
        raise NotEnoughData("votes need two names, two voters and two tasks or more")
    if set(winners) != set(names) or set(losers) != set(names):
        raise NotEnoughData("somebody never won or never lost: no finite strength")
    index = {name: i for i, name in enumerate(names)}
    if not _all_beat_all(index, winners, losers):
        raise NotEnoughData("some never won, or never lost, against the rest: no finite strength")
    # Every second vote is turned round, since a response that is always 1 has no variance.
    turned = np.arange(len(winners)) % 2 == 1
    design = np.zeros((len(winners), len(names)))
    sign = np.where(turned, -1.0, 1.0)
    design[np.arange(len(winners)), [index[w] for w in winners]] = sign
    design[np.arange(len(losers)), [index[x] for x in losers]] -= sign
    groups = np.column_stack([np.unique(c, return_inverse=True)[1] for c in clusters]).squeeze()
    # Sum to zero: the last strength is minus the sum of the others.
    contrast = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])
    fitted = GLM((~turned).astype(float), design @ contrast, family=Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    strength = contrast @ fitted.params
    error = np.sqrt(np.maximum(np.diag(contrast @ fitted.cov_params() @ contrast.T), 0))
    freedom = min(len(set(column)) for column in clusters) - 1
    width = stats.t.ppf((1 + level) / 2, freedom) * error
    return Strengths(
        names=names,
        strength=strength,
        error=error,
        low=strength - width,
        high=strength + width,
        level=level,
        n_votes=len(winners),
        n_voters=len(set(voters)),
        n_tasks=len(set(tasks or ())),
    )


def _all_beat_all(index: dict[str, int], winners: Sequence[str], losers: Sequence[str]) -> bool:
    """Whether a chain of victories leads from each to each (Ford 1957): else the likelihood has no
    maximum."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    places = ([index[w] for w in winners], [index[x] for x in losers])
    won = coo_array((np.ones(len(winners)), places), shape=(len(index), len(index)))
    return int(connected_components(won, connection="strong")[0]) == 1

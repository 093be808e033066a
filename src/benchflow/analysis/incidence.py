"""How soon: the share that reached a milestone over minutes, tokens or dollars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchflow.analysis.cluster import labels, t_quantile, unseen
from benchflow.analysis.estimate import Basis, Floats, Ints, NotEnoughData

REACHED, ENDED, CUT = 1, 2, 0

#: Few enough for a processor's cache.
_DRAWS_A_TIME = 16


@dataclass(frozen=True)
class Incidence:
    """Cumulative incidence of reaching a milestone: `share` (with `low`, `high`) at each `at`.

    `ended`: the share that had ended for good without it by then; what is left of 1 was still on
    its way. `last`: the greatest amount at which anybody was still on the way; beyond it nothing is
    known, and the curve is NaN when those were cut off.
    """

    at: Floats
    share: Floats
    low: Floats
    high: Floats
    ended: Floats
    last: float
    level: float
    basis: Basis


def cumulative_incidence(
    amounts: Floats,
    status: Ints,
    units: Sequence[str],
    grid: Floats,
    level: float = 0.95,
    draws: int = 400,
    seed: int = 0,
    *,
    n_tasks: int | None = None,
    errors: int = 0,
) -> Incidence:
    """Share of trials that reached a milestone by each amount (minutes, tokens or dollars).

    Per trial: `amounts` spent when it ended or reached the milestone; `status` 1 = reached,
    2 = ended for good without it (a competing end), 0 = cut off from outside and could have gone
    on. Aalen–Johansen; the interval is made on the complementary log-log scale with the standard
    error of resampled `units` (tasks, or generators). `n_tasks`: how many tasks they are, where a
    unit is not one. Raises NotEnoughData below two units.
    """
    amounts, status = np.asarray(amounts, float), np.asarray(status)
    grid = np.asarray(grid, float)
    names, index = labels(units)
    if len(names) < 2:
        raise NotEnoughData("an interval over tasks needs two tasks or more")
    generator = np.random.default_rng(seed)
    picks = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws)
    weights = np.vstack([np.ones(len(names), dtype=np.int64), picks])
    reached, ended = _aalen_johansen(amounts, status, weights, index, grid)
    share, drawn = reached[0], reached[1:]
    inside = np.clip(share, 1e-9, 1 - 1e-9)
    scaled = np.log(-np.log(np.clip(drawn, 1e-4, 1 - 1e-4)))
    center = np.log(-np.log(inside))
    width = t_quantile(level, len(names) - 1) * scaled.std(axis=0, ddof=1)
    low, high = np.exp(-np.exp(center + width)), np.exp(-np.exp(center - width))
    # Where all units are the same there is no spread: those that are otherwise may be unseen.
    missed = unseen(len(names), level)
    known = (share > 0) & (share < 1) & (width > 0)
    last = float(amounts.max())
    cut_last = bool((status[amounts == last] == CUT).any())
    seen = np.where((grid > last) & cut_last, np.nan, 1.0)
    return Incidence(
        at=grid,
        share=share * seen,
        low=np.where(known, low, share * (1 - missed)) * seen,
        high=np.where(known, high, share * (1 - missed) + missed) * seen,
        ended=ended[0] * seen,
        last=last,
        level=level,
        basis=Basis(
            n_tasks=len(names) if n_tasks is None else n_tasks,
            n_trials=len(amounts),
            n_errors=errors,
            method=f"Aalen–Johansen, error from {draws} redraws of {len(names)} units",
            seed=seed,
        ),
    )


def _aalen_johansen(
    amounts: Floats, status: Ints, weights: Ints, index: Ints, grid: Floats
) -> tuple[Floats, Floats]:
    """Incidence of reaching and of ending, each of shape (draws, grid).

    `weights`: how often each unit was drawn, of shape (draws, units); `index`: a trial's unit.
    """
    times, place = np.unique(amounts, return_inverse=True)
    shape = (weights.shape[1], len(times))
    found = np.searchsorted(times, grid, side="right")
    kinds = []
    for which in (np.ones(len(amounts), dtype=bool), status == REACHED, status == ENDED):
        # A unit holds few times, so the table of trials by unit and time is sparse.
        ones = np.ones(int(which.sum()))
        kinds.append(sparse.csr_array((ones, (index[which], place[which])), shape=shape).T.tocsr())
    curves = np.empty((2, len(weights), len(grid)))
    for first in range(0, len(weights), _DRAWS_A_TIME):
        some = slice(first, first + _DRAWS_A_TIME)
        drawn = weights[some].T.astype(float)
        # Trials of each draw at each time.
        at_end, reached, ended = (np.ascontiguousarray((table @ drawn).T) for table in kinds)
        at_risk = np.maximum(at_end[:, ::-1].cumsum(axis=1)[:, ::-1], 1e-12)
        staying = np.cumprod(1 - (reached + ended) / at_risk, axis=1)
        before = np.ones_like(staying)
        before[:, 1:] = staying[:, :-1]
        before /= at_risk
        for curve, kind in zip(curves, (reached, ended), strict=True):
            steps = np.cumsum(before * kind, axis=1)
            curve[some] = np.hstack([np.zeros((len(steps), 1)), steps])[:, found]
    return curves[0], curves[1]
    return curves[0], curves[1]

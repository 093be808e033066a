"""How far each gets: chances of the next rung, and rungs reached over time, tokens or money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.estimate import Estimate, Floats, Ints, NotEnoughData


@dataclass(frozen=True)
class RungModel:
    """A continuation-ratio logit: log-odds of passing the next rung = rung + group.

    `effect` per group (in the order of `groups`) is against the mean group, in logits, with
    intervals from errors clustered by task. Rungs that all or none passed carry no information on
    groups and are listed in `left_out`.
    """

    groups: tuple[str, ...]
    effect: Floats
    low: Floats
    high: Floats
    level: float
    n_tasks: int
    n_trials: int
    left_out: tuple[int, ...]


def rung_chances(
    furthest: Ints, n_rungs: int, tasks: Sequence[str], level: float = 0.95
) -> list[Estimate | None]:
    """Chance of passing rung k given that it was reached, for k = 1…n_rungs.

    `furthest`: rungs passed per trial, 0…n_rungs. A rung that fewer than two tasks reached is
    None. Ratio estimator with tasks as clusters, as in `rates.rate`.
    """
    from benchflow.analysis.estimate import Outcomes
    from benchflow.analysis.rates import rate

    furthest = np.asarray(furthest)
    names, index = np.unique(np.asarray(tasks), return_inverse=True)
    chances: list[Estimate | None] = []
    for rung in range(1, n_rungs + 1):
        reached = np.bincount(index[furthest >= rung - 1], minlength=len(names))
        passed = np.bincount(index[furthest >= rung], minlength=len(names))
        there = reached > 0
        if there.sum() < 2:
            chances.append(None)
            continue
        kept = tuple(str(name) for name in names[there])
        chances.append(rate(Outcomes(kept, passed[there], reached[there]), level).total)
    return chances


def sequential_logit(
    furthest: Ints,
    n_rungs: int,
    groups: Sequence[str],
    tasks: Sequence[str],
    level: float = 0.95,
) -> RungModel:
    """Who climbs better, over all rungs at once (Tutz 1991); one row a trial.

    Raises NotEnoughData below two groups or two tasks, or when no rung separates trials.
    """
    import statsmodels.api as sm

    furthest = np.asarray(furthest)
    names = tuple(sorted(set(groups)))
    task_names, task_index = np.unique(np.asarray(tasks), return_inverse=True)
    if len(names) < 2 or len(task_names) < 2:
        raise NotEnoughData("the ladder model needs two groups and two tasks or more")
    group_index = np.array([names.index(group) for group in groups])
    rows_rung, rows_group, rows_task, passed = [], [], [], []
    left_out = []
    for rung in range(1, n_rungs + 1):
        there = furthest >= rung - 1
        success = furthest[there] >= rung
        if success.all() or not success.any():
            left_out.append(rung)
            continue
        rows_rung.append(np.full(there.sum(), rung))
        rows_group.append(group_index[there])
        rows_task.append(task_index[there])
        passed.append(success)
    if not passed:
        raise NotEnoughData("no rung was passed by some and failed by others")
    rung_of, group_of = np.concatenate(rows_rung), np.concatenate(rows_group)
    used = np.unique(rung_of)
    rung_columns = (rung_of[:, None] == used[None, :]).astype(float)
    contrast = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])
    design = np.hstack([rung_columns, contrast[group_of]])
    fitted = sm.GLM(
        np.concatenate(passed).astype(float), design, family=sm.families.Binomial()
    ).fit(cov_type="cluster", cov_kwds={"groups": np.concatenate(rows_task)})
    first = len(used)
    effect = contrast @ fitted.params[first:]
    covariance = contrast @ fitted.cov_params()[first:, first:] @ contrast.T
    width = stats.t.ppf((1 + level) / 2, len(task_names) - 1) * np.sqrt(np.diag(covariance))
    return RungModel(
        groups=names,
        effect=effect,
        low=effect - width,
        high=effect + width,
        level=level,
        n_tasks=len(task_names),
        n_trials=len(furthest),
        left_out=tuple(left_out),
    )


@dataclass(frozen=True)
class Incidence:
    """Cumulative incidence of reaching a milestone: `share` (with `low`, `high`) at each `at`."""

    at: Floats
    share: Floats
    low: Floats
    high: Floats
    level: float
    n_tasks: int
    n_trials: int


def cumulative_incidence(
    amounts: Floats,
    status: Ints,
    tasks: Sequence[str],
    grid: Floats,
    level: float = 0.95,
    draws: int = 400,
    seed: int = 0,
) -> Incidence:
    """Share of trials that reached a milestone by each amount (minutes, tokens or dollars).

    Per trial: `amounts` spent when it ended or reached the milestone; `status` 1 = reached,
    2 = ended for good without it (a competing end), 0 = cut off from outside and could have gone
    on. Aalen–Johansen; the interval is made on the complementary log-log scale with the standard
    error of resampled tasks. Raises NotEnoughData below two tasks.
    """
    amounts, status = np.asarray(amounts, float), np.asarray(status)
    names, index = np.unique(np.asarray(tasks), return_inverse=True)
    if len(names) < 2:
        raise NotEnoughData("an interval over tasks needs two tasks or more")
    share = _aalen_johansen(amounts, status, np.ones(len(amounts)), grid)
    generator = np.random.default_rng(seed)
    picks = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=draws)
    drawn = np.array(
        [_aalen_johansen(amounts, status, pick[index].astype(float), grid) for pick in picks]
    )
    inside = np.clip(share, 1e-9, 1 - 1e-9)
    scaled = np.log(-np.log(np.clip(drawn, 1e-4, 1 - 1e-4)))
    center = np.log(-np.log(inside))
    width = stats.t.ppf((1 + level) / 2, len(names) - 1) * scaled.std(axis=0, ddof=1)
    low, high = np.exp(-np.exp(center + width)), np.exp(-np.exp(center - width))
    known = (share > 0) & (share < 1)
    return Incidence(
        at=np.asarray(grid, float),
        share=share,
        low=np.where(known, low, share),
        high=np.where(known, high, share),
        level=level,
        n_tasks=len(names),
        n_trials=len(amounts),
    )


def _aalen_johansen(amounts: Floats, status: Ints, weight: Floats, grid: Floats) -> Floats:
    times, inverse = np.unique(amounts, return_inverse=True)
    at_end = np.bincount(inverse, weights=weight, minlength=len(times))
    reached = np.bincount(inverse, weights=weight * (status == 1), minlength=len(times))
    ended = np.bincount(inverse, weights=weight * (status != 0), minlength=len(times))
    at_risk = at_end[::-1].cumsum()[::-1]
    hazard = np.divide(reached, at_risk, out=np.zeros_like(reached), where=at_risk > 0)
    leaving = np.divide(ended, at_risk, out=np.zeros_like(ended), where=at_risk > 0)
    staying = np.concatenate([[1.0], np.cumprod(1 - leaving)[:-1]])
    incidence = np.concatenate([[0.0], np.cumsum(staying * hazard)])
    found: Floats = incidence[np.searchsorted(times, grid, side="right")]
    return found

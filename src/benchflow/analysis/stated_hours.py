"""Hours that raters state for tasks: a typical value per task, with each rater's own leaning.

The logarithm of a stated value is task + rater + rest: some raters are quick at everything. Raters
are drawn from those who could have been asked, tasks are these. The two spreads come by restricted
maximum likelihood, so that a task rated by quick raters alone is not taken for a short one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.cluster import labels
from benchflow.analysis.estimate import Floats, Ints, NotEnoughData

#: Fewer raters of a task, and of all together, hold the truth too seldom (docs/analysis.md).
LEAST_OF_TASK = 3
LEAST_RATERS = 5


@dataclass(frozen=True)
class StatedHours:
    """In the order of `tasks`: geometric mean over all who could rate, and its interval.

    `rater_factor`: by how much raters differ, one standard deviation, as a factor (1: not at all);
    `rest_factor`: what a rater and a task have beyond that.
    """

    tasks: tuple[str, ...]
    hours: Floats
    low: Floats
    high: Floats
    level: float
    n_raters: Ints
    rater_factor: float
    rest_factor: float


def stated_hours(
    hours: Sequence[float], raters: Sequence[str], tasks: Sequence[str], level: float = 0.95
) -> StatedHours:
    """One entry a rating, each rater at most once a task. Tasks of fewer than LEAST_OF_TASK raters
    are left out. Raises NotEnoughData when none is left, when fewer than LEAST_RATERS raters are,
    or when no rater has rated two tasks; ValueError for hours that are not above 0.
    """
    value = np.asarray(hours, float)
    if not len(value) == len(raters) == len(tasks):
        raise ValueError("hours, raters and tasks differ in length")
    if not np.all(np.isfinite(value)) or np.any(value <= 0):
        raise ValueError("hours are above 0")
    counted = {name: len({r for r, t in zip(raters, tasks, strict=True) if t == name})
               for name in set(tasks)}  # fmt: skip
    kept = np.array([counted[name] >= LEAST_OF_TASK for name in tasks], bool)
    if not kept.any():
        most = max(counted.values(), default=0)
        raise NotEnoughData(f"no task has {LEAST_OF_TASK} raters; the most is {most}")
    names, task = labels([name for name, keep in zip(tasks, kept, strict=True) if keep])
    people, rater = labels([name for name, keep in zip(raters, kept, strict=True) if keep])
    if len(people) < LEAST_RATERS:
        raise NotEnoughData(
            f"{len(people)} raters; the interval needs {LEAST_RATERS} to hold what it says"
        )
    if np.bincount(rater).max() < 2 and len(names) > 1:
        raise NotEnoughData("nobody has rated two tasks: raters and tasks cannot be told apart")
    log = np.log(value[kept])
    center, error, between, rest = _fitted(log, rater, task)
    n_raters = np.bincount(task, minlength=len(names))
    freedom = _freedom(between, rest, len(log), len(people), len(names))
    width = stats.t.ppf((1 + level) / 2, freedom) * error
    return StatedHours(
        tasks=names,
        hours=np.exp(center),
        low=np.exp(center - width),
        high=np.exp(center + width),
        level=level,
        n_raters=n_raters,
        rater_factor=float(np.exp(between)),
        rest_factor=float(np.exp(rest)),
    )


def _fitted(log: Floats, rater: Ints, task: Ints) -> tuple[Floats, Floats, float, float]:
    """Means of the tasks, their errors, and the standard deviations of raters and of the rest."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    design = np.eye(task.max() + 1)[task]
    if task.max() == 0 or not np.ptp(log - design @ (design.T @ log / design.sum(axis=0))):
        return _plain(log, design)
    with warnings.catch_warnings():
        # A spread of raters of 0 is an answer, not a failure; statsmodels warns of it.
        warnings.simplefilter("ignore")
        found = MixedLM(log, design, groups=rater).fit(reml=True)
        between = float(np.sqrt(max(0.0, float(np.asarray(found.cov_re)[0, 0]))))
        rest = float(np.sqrt(found.scale))
        center, error = np.asarray(found.fe_params), np.asarray(found.bse_fe)
    if not np.all(np.isfinite(error)):
        return _plain(log, design)
    return center, error, between, rest


def _freedom(between: float, rest: float, n: int, n_raters: int, n_tasks: int) -> float:
    """Degrees of freedom of a task's error: Satterthwaite's, of the two mean squares that it is
    made of in a table without gaps, at the mean number of tasks a rater."""
    each = n / n_raters
    of_rest = n - n_raters - n_tasks + 1
    mean_raters, mean_rest = each * between**2 + rest**2, rest**2
    if of_rest < 1 or mean_raters == 0:
        return float(n_raters - 1)
    whole = mean_raters + (each - 1) * mean_rest
    parts = mean_raters**2 / (n_raters - 1) + ((each - 1) * mean_rest) ** 2 / of_rest
    return float(whole**2 / parts)


def _plain(log: Floats, design: Floats) -> tuple[Floats, Floats, float, float]:
    """One task, or no spread at all: means and their errors."""
    n = design.sum(axis=0)
    center = design.T @ log / n
    spread = design.T @ (log - design @ center) ** 2 / np.maximum(n - 1, 1)
    return center, np.sqrt(spread / n), 0.0, float(np.sqrt(spread.mean()))

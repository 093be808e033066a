"""How long a task, in minutes of an expert, an agent solves half the time — or a refusal.

Logistic regression of success on log2 of expert minutes, trials clustered by task (or generator),
as in Kwa et al. 2025 (arXiv:2503.14499). The interval is Fieller's, on the log scale. A horizon is
refused where it would be invented: too few tasks, no fall of success with length, a value outside
the lengths that were tried, or an interval that leaves them far behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.cluster import labels
from benchflow.analysis.estimate import Estimate, Floats, Outcomes

#: Doublings beyond the shortest or longest task at which an interval says nothing any more.
_FARTHEST = 10


@dataclass(frozen=True)
class Horizon:
    """`estimate` in expert minutes, or None with the `refused` reason in words."""

    estimate: Estimate | None
    refused: str
    slope: float
    slope_error: float


def horizon(
    outcomes: Outcomes, minutes: Floats, share: float = 0.5, level: float = 0.95
) -> Horizon:
    """The length in minutes at which the success rate is `share`; `minutes` is per task."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    if len(minutes) != len(outcomes.tasks) or np.any(np.asarray(minutes) <= 0):
        raise ValueError("minutes: one positive number per task")
    if len(outcomes.tasks) < 10:
        return Horizon(None, "fewer than 10 tasks", float("nan"), float("nan"))
    unit_names, unit = labels(outcomes.units)
    if len(unit_names) < 10:
        return Horizon(None, "fewer than 10 generators of tasks", float("nan"), float("nan"))
    if np.ptp(np.log2(minutes)) < 2:
        return Horizon(None, "the tasks differ less than fourfold in length", np.nan, np.nan)
    solved = int(outcomes.successes.sum())
    if solved in (0, outcomes.n_trials):
        return Horizon(None, "all trials ended alike", float("nan"), float("nan"))
    counts = np.column_stack([outcomes.successes, outcomes.trials - outcomes.successes])
    length = np.log2(minutes)
    model = GLM(counts, np.column_stack([np.ones(len(length)), length]), family=Binomial())
    if outcomes.generators:
        fitted = model.fit(cov_type="cluster", cov_kwds={"groups": unit})
    else:
        fitted = model.fit(cov_type="HC1")
    (start, slope), covariance = fitted.params, fitted.cov_params()
    slope_error = float(np.sqrt(covariance[1, 1]))
    quantile = float(stats.t.ppf((1 + level) / 2, len(unit_names) - 2))
    if not slope + quantile * slope_error < 0:
        return Horizon(None, "success does not fall clearly with length", float(slope), slope_error)
    offset = float(np.log(share / (1 - share)))
    at = (offset - start) / slope
    if not length.min() <= at <= length.max():
        return Horizon(
            None, "it would lie outside the lengths that were tried", float(slope), slope_error
        )
    low, high = _fieller(start - offset, float(slope), covariance, quantile)
    if low < length.min() - _FARTHEST or high > length.max() + _FARTHEST:
        why = "its interval would reach a thousandfold beyond the lengths that were tried"
        return Horizon(None, why, float(slope), slope_error)
    by = "generator" if outcomes.generators else "task"
    return Horizon(
        Estimate(
            value=float(2**at),
            low=float(2**low),
            high=float(2**high),
            level=level,
            n_tasks=len(outcomes.tasks),
            n_trials=outcomes.n_trials,
            n_errors=outcomes.errors,
            method=f"logistic on log2 minutes, robust by {by}, Fieller interval",
        ),
        "",
        float(slope),
        slope_error,
    )


def _fieller(
    start: float, slope: float, covariance: Floats, quantile: float
) -> tuple[float, float]:
    """Interval of -start/slope: where (start + slope·x)² ≤ q²·variance of it (Fieller 1954)."""
    a = slope**2 - quantile**2 * covariance[1, 1]
    b = 2 * (start * slope - quantile**2 * covariance[0, 1])
    c = start**2 - quantile**2 * covariance[0, 0]
    root = np.sqrt(max(b**2 - 4 * a * c, 0.0))
    return float((-b - root) / (2 * a)), float((-b + root) / (2 * a))

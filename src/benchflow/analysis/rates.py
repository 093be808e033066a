"""Success rates and the three noises that hide in their “±”.

The unit of inference is the task: a benchmark's tasks stand for all tasks of their kind, so the
honest error includes that other tasks could have been drawn. Published tables most often show
only the re-run noise, which is several times smaller; both are given here, named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData, Outcomes


@dataclass(frozen=True)
class Noise:
    """Standard errors of a rate (same unit as the rate), apart.

    `rerun`: the same tasks run again. `tasks`: other tasks of the same kind, each run without end.
    `total`: other tasks run as often as these were; total² = rerun² + tasks².
    `rerun` is None when no task was run twice: then it cannot be told apart.
    """

    rerun: float | None
    tasks: float | None
    total: float


@dataclass(frozen=True)
class Rate:
    """A success rate with the honest interval (`total`) and the usual one (`rerun_only`)."""

    total: Estimate
    rerun_only: Estimate | None
    noise: Noise


def rate(outcomes: Outcomes, level: float = 0.95) -> Rate:
    """Successes over trials, with the task as the unit.

    The value is the plain count, sum of successes over sum of trials. Its total error is that of a
    ratio estimator over clusters (Cochran, Sampling Techniques, 3rd ed., eq. 6.13 and 9.30), with
    t quantiles on (tasks - 1) degrees of freedom; with equal trials per task it is exactly the t
    interval on task means. Raises NotEnoughData below two tasks.
    """
    n_tasks = len(outcomes.tasks)
    if n_tasks < 2:
        raise NotEnoughData("an interval over tasks needs two tasks or more")
    total_trials = outcomes.n_trials
    value = float(outcomes.successes.sum() / total_trials)
    noise = noise_of(outcomes)
    quantile = float(stats.t.ppf((1 + level) / 2, n_tasks - 1))
    rerun_only = None
    if noise.rerun is not None:
        normal = float(stats.norm.ppf((1 + level) / 2))
        rerun_only = _estimate(outcomes, value, normal * noise.rerun, level, "re-run noise only")
    return Rate(
        total=_estimate(outcomes, value, quantile * noise.total, level, "t over tasks (ratio)"),
        rerun_only=rerun_only,
        noise=noise,
    )


def noise_of(outcomes: Outcomes) -> Noise:
    """The three standard errors of the plain rate; see Noise."""
    successes, trials = outcomes.successes.astype(float), outcomes.trials.astype(float)
    n_tasks, total_trials = len(trials), float(trials.sum())
    value = successes.sum() / total_trials
    residuals = successes - value * trials
    total = float(np.sqrt(n_tasks / (n_tasks - 1) * (residuals**2).sum()) / total_trials)
    repeated = trials > 1
    if not repeated.any():
        return Noise(rerun=None, tasks=None, total=total)
    share = successes / trials
    variance = np.zeros(n_tasks)
    variance[repeated] = (share * (1 - share) * trials / np.maximum(trials - 1, 1))[repeated]
    # A task that was run once says nothing of its own re-run noise: it gets the others' mean.
    variance[~repeated] = variance[repeated].mean()
    rerun = float(np.sqrt((trials * variance).sum()) / total_trials)
    return Noise(rerun=rerun, tasks=float(np.sqrt(max(total**2 - rerun**2, 0.0))), total=total)


def bootstrap_rate(
    outcomes: Outcomes, level: float = 0.95, draws: int = 4000, seed: int = 0
) -> Estimate:
    """The same rate by resampling whole tasks (percentile interval): a check on `rate`."""
    generator = np.random.default_rng(seed)
    n_tasks = len(outcomes.tasks)
    if n_tasks < 2:
        raise NotEnoughData("resampling tasks needs two tasks or more")
    picks = generator.integers(0, n_tasks, size=(draws, n_tasks))
    rates: Floats = outcomes.successes[picks].sum(axis=1) / outcomes.trials[picks].sum(axis=1)
    low, high = np.quantile(rates, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(
        value=float(outcomes.successes.sum() / outcomes.n_trials),
        low=float(low),
        high=float(high),
        level=level,
        n_tasks=n_tasks,
        n_trials=outcomes.n_trials,
        n_errors=outcomes.errors,
        method=f"bootstrap over tasks, {draws} draws",
        seed=seed,
    )


def _estimate(outcomes: Outcomes, value: float, half: float, level: float, method: str) -> Estimate:
    return Estimate(
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        level=level,
        n_tasks=len(outcomes.tasks),
        n_trials=outcomes.n_trials,
        n_errors=outcomes.errors,
        method=method,
    )

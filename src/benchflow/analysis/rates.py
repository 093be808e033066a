"""Success rates and the three noises that hide in their “±”.

The unit of inference is the task: a benchmark's tasks stand for all tasks of their kind, so the
honest error includes that other tasks could have been drawn. Published tables most often show
only the re-run noise, which is several times smaller; both are given here, named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchflow.analysis.cluster import (
    labels,
    no_spread,
    normal_quantile,
    plain_interval,
    ratio,
    t_quantile,
)
from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData, Outcomes

#: Why the parts of an error are not told apart.
TRIED_ONCE = "half of the tasks or more were tried once"
MORE_THAN_ALL = "re-runs alone would come to more than the whole, as happens with few tasks"


@dataclass(frozen=True)
class Noise:
    """Standard errors of a rate (same unit as the rate), apart.

    `rerun`: the same tasks run again. `tasks`: other tasks of the same kind, each run without end.
    `total`: other tasks run as often as these were; total² = rerun² + tasks².
    `rerun` and `tasks` are None where the parts cannot be told apart: where half of the tasks or
    more were run once, or re-runs alone would come to more than the total.
    """

    rerun: float | None
    tasks: float | None
    total: float


@dataclass(frozen=True)
class Rate:
    """A success rate with the honest interval (`total`) and the usual one (`rerun_only`).

    `noise`: the three standard errors. `plus_minus`: the same three as half widths at the level of
    the intervals, which are cut at 0 and 1 where these are not. Where nothing varies (between
    tasks; between the trials of any task) the error is 0 and the half width that of
    `cluster.no_spread`. Without spread between tasks the part of `tasks` is not known.
    `parts_unknown`: why the parts are not told apart; empty where they are.
    """

    total: Estimate
    rerun_only: Estimate | None
    noise: Noise
    plus_minus: Noise
    parts_unknown: str = ""


def rate(outcomes: Outcomes, level: float = 0.95) -> Rate:
    """Successes over trials, with the task (or generator) as the unit.

    The value is the plain count, sum of successes over sum of trials. Its total error is that of a
    ratio estimator over clusters (`cluster.ratio`); with equal trials per task it is exactly the t
    interval on task means. Raises NotEnoughData below two tasks or generators.
    """
    found = ratio(outcomes.successes, outcomes.trials, outcomes.units)
    noise = noise_of(outcomes)
    unit = "generators" if outcomes.generators else "tasks"
    wide = t_quantile(level, found.freedom)
    low, high = plain_interval(found, level)
    total = _estimate(outcomes, found.value, low, high, level, f"t over {unit} (ratio)")
    whole = wide * noise.total if noise.total else (high - low) / 2
    rerun_only, half = None, None
    if noise.rerun is not None:
        half = normal_quantile(level) * noise.rerun
        low, high = max(0.0, found.value - half), min(1.0, found.value + half)
        if half == 0:
            repeated = int(outcomes.trials[outcomes.trials > 1].sum())
            low, high = no_spread(found.value, repeated, level)
            half = (high - low) / 2
        rerun_only = _estimate(outcomes, found.value, low, high, level, "normal, re-run noise only")
        if half > whole:
            noise, rerun_only, half = Noise(None, None, noise.total), None, None
    unknown = "" if noise.rerun is not None else _why_unknown(outcomes)
    return Rate(
        total=total,
        rerun_only=rerun_only,
        noise=noise,
        plus_minus=Noise(
            rerun=half,
            tasks=wide * noise.tasks if noise.tasks is not None and noise.total else None,
            total=whole,
        ),
        parts_unknown=unknown,
    )


def _why_unknown(outcomes: Outcomes) -> str:
    return MORE_THAN_ALL if _mostly_repeated(outcomes) else TRIED_ONCE


def _mostly_repeated(outcomes: Outcomes) -> bool:
    """A task that was run once is given the others' re-run noise: that is a guess where it is
    given to most."""
    return 2 * int((outcomes.trials > 1).sum()) > len(outcomes.trials)


def noise_of(outcomes: Outcomes) -> Noise:
    """The three standard errors of the plain rate; see Noise."""
    successes, trials = outcomes.successes.astype(float), outcomes.trials.astype(float)
    n_tasks, total_trials = len(trials), float(trials.sum())
    total = ratio(successes, trials, outcomes.units).error
    repeated = trials > 1
    if not _mostly_repeated(outcomes):
        return Noise(rerun=None, tasks=None, total=total)
    share = successes / trials
    variance = np.zeros(n_tasks)
    variance[repeated] = (share * (1 - share) * trials / np.maximum(trials - 1, 1))[repeated]
    # A task that was run once says nothing of its own re-run noise: it gets the others' mean.
    variance[~repeated] = variance[repeated].mean()
    rerun = float(np.sqrt((trials * variance).sum()) / total_trials)
    if total and rerun > total:
        return Noise(rerun=None, tasks=None, total=total)
    return Noise(rerun=rerun, tasks=float(np.sqrt(max(total**2 - rerun**2, 0.0))), total=total)


def bootstrap_rate(
    outcomes: Outcomes, level: float = 0.95, draws: int = 4000, seed: int = 0
) -> Estimate:
    """The same rate by resampling tasks or generators (percentile interval): a check on `rate`."""
    names, index = labels(outcomes.units)
    if len(names) < 2:
        raise NotEnoughData("resampling tasks needs two tasks (or generators) or more")
    successes = np.bincount(index, weights=outcomes.successes)
    trials = np.bincount(index, weights=outcomes.trials)
    picks = np.random.default_rng(seed).integers(0, len(names), size=(draws, len(names)))
    rates: Floats = successes[picks].sum(axis=1) / trials[picks].sum(axis=1)
    low, high = np.quantile(rates, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(
        value=float(outcomes.successes.sum() / outcomes.n_trials),
        low=float(low),
        high=float(high),
        level=level,
        n_tasks=len(outcomes.tasks),
        n_trials=outcomes.n_trials,
        n_errors=outcomes.errors,
        method=f"bootstrap over tasks, {draws} draws",
        seed=seed,
    )


def _estimate(
    outcomes: Outcomes, value: float, low: float, high: float, level: float, method: str
) -> Estimate:
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n_tasks=len(outcomes.tasks),
        n_trials=outcomes.n_trials,
        n_errors=outcomes.errors,
        method=method,
    )

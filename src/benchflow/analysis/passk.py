"""pass@k (any of k attempts succeeds) and pass^k (all of k succeed), tasks as clusters."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import special, stats

from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData, Outcomes


def pass_k(
    outcomes: Outcomes, k: int, kind: Literal["any", "all"] = "any", level: float = 0.95
) -> Estimate:
    """Mean over tasks of the unbiased per-task estimate, with a t interval over tasks.

    The interval is made on the logit scale: near 0 and 1 the task values are so skewed that the
    plain t interval covers too seldom (90.5 % instead of 95 % for pass^3 in our simulation).

    With c successes in n trials: any = 1 - C(n-c, k) / C(n, k) (Chen et al. 2021,
    arXiv:2107.03374, eq. 1); all = C(c, k) / C(n, k). Tasks with fewer than k trials cannot say
    anything and are left out; `n_tasks` counts those that remain. Raises NotEnoughData when fewer
    than two remain, ValueError when k < 1.
    """
    if k < 1:
        raise ValueError("k is 1 or more")
    usable = outcomes.trials >= k
    n_tasks = int(usable.sum())
    if n_tasks < 2:
        raise NotEnoughData(f"fewer than two tasks have {k} trials or more")
    trials, successes = outcomes.trials[usable], outcomes.successes[usable]
    ways = special.comb(trials, k)
    values: Floats
    if kind == "any":
        values = 1 - special.comb(trials - successes, k) / ways
    else:
        values = special.comb(successes, k) / ways
    mean = float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(n_tasks))
    low, high = _logit_interval(mean, float(stats.t.ppf((1 + level) / 2, n_tasks - 1)) * error)
    name = f"pass@{k}" if kind == "any" else f"pass^{k}"
    return Estimate(
        value=mean,
        low=low,
        high=high,
        level=level,
        n_tasks=n_tasks,
        n_trials=int(trials.sum()),
        n_errors=outcomes.errors,
        method=f"{name}, unbiased per task, t over tasks on the logit scale",
    )


def _logit_interval(mean: float, half: float) -> tuple[float, float]:
    if half == 0 or not 0 < mean < 1:
        return max(0.0, mean - half), min(1.0, mean + half)
    center, width = special.logit(mean), half / (mean * (1 - mean))
    return float(special.expit(center - width)), float(special.expit(center + width))

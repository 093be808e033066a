"""pass@k (any of k attempts succeeds) and pass^k (all of k succeed), tasks as clusters."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import special

from benchflow.analysis.cluster import logit_interval, ratio
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
    units = tuple(unit for unit, there in zip(outcomes.units, usable, strict=True) if there)
    found = ratio(values, np.ones(n_tasks), units)
    low, high = logit_interval(found, level)
    name = f"pass@{k}" if kind == "any" else f"pass^{k}"
    return Estimate(
        value=found.value,
        low=low,
        high=high,
        level=level,
        n_tasks=n_tasks,
        n_trials=int(trials.sum()),
        n_errors=outcomes.errors,
        method=f"{name}, unbiased per task, t over tasks or generators on the logit scale",
    )

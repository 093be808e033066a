"""How far raters agree: Krippendorff's α, with an interval over raters.

α is 1 for full agreement, 0 for what chance would bring, below 0 for less than that. Raters are
drawn, the tasks are these; the error is the jackknife's, one rater left out at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchflow.analysis.cluster import labels, t_quantile
from benchflow.analysis.estimate import Floats, NotEnoughData

Scale = Literal["nominal", "ordinal", "interval"]
#: Fewer raters or tasks hold the truth too seldom (docs/analysis.md).
LEAST_RATERS = 6
LEAST_TASKS = 3


@dataclass(frozen=True)
class Agreement:
    """α with its interval at `level`."""

    alpha: float
    low: float
    high: float
    level: float
    n_raters: int
    n_tasks: int


def agreement(
    values: Sequence[float],
    raters: Sequence[str],
    tasks: Sequence[str],
    scale: Scale,
    level: float = 0.95,
) -> Agreement:
    """α of values (one entry a rating; an order's places for `ordinal`), over the tasks that two
    raters or more have rated. Raises NotEnoughData below LEAST_RATERS raters or LEAST_TASKS tasks,
    and when all say the same of everything (then nothing could disagree).
    """
    if not len(values) == len(raters) == len(tasks):
        raise ValueError("values, raters and tasks differ in length")
    people, row = labels(raters)
    names, column = labels(tasks)
    table = np.full((len(people), len(names)), np.nan)
    table[row, column] = np.asarray(values, float)
    table = table[:, np.sum(~np.isnan(table), axis=0) >= 2]
    table = table[np.sum(~np.isnan(table), axis=1) >= 1]
    n_raters, n_tasks = table.shape
    if n_raters < LEAST_RATERS or n_tasks < LEAST_TASKS:
        raise NotEnoughData(
            f"{n_raters} raters of {n_tasks} tasks; α needs {LEAST_RATERS} raters who share "
            f"{LEAST_TASKS} tasks"
        )
    whole = _alpha(table, scale)
    rest = [_alpha(np.delete(table, one, axis=0), scale) for one in range(n_raters)]
    pseudo = n_raters * whole - (n_raters - 1) * np.array(rest)
    half = t_quantile(level, n_raters - 1) * float(pseudo.std(ddof=1)) / np.sqrt(n_raters)
    center = float(pseudo.mean())
    return Agreement(
        whole, max(-1.0, center - half), min(1.0, center + half), level, n_raters, n_tasks
    )


def _alpha(table: Floats, scale: Scale) -> float:
    import krippendorff

    seen = table[:, np.sum(~np.isnan(table), axis=0) >= 2]
    if len(np.unique(seen[~np.isnan(seen)])) < 2:
        raise NotEnoughData("all raters say the same of everything: there is nothing to agree on")
    return float(krippendorff.alpha(reliability_data=seen, level_of_measurement=scale))

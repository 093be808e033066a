"""The one formula under most intervals here: a ratio of sums over clusters of dependent rows.

Clusters are the units of inference: tasks, or families where tasks share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from benchflow.analysis.estimate import Floats, Ints, NotEnoughData


@dataclass(frozen=True)
class Ratio:
    """Sum of `top` over sum of `bottom`, its standard error, and the number of clusters."""

    value: float
    error: float
    n_clusters: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the error."""
        return self.n_clusters - 1

    def half_width(self, level: float) -> float:
        """Half of the two-sided t interval."""
        return float(stats.t.ppf((1 + level) / 2, self.freedom)) * self.error


def ratio(top: Floats | Ints, bottom: Floats | Ints, units: Sequence[str]) -> Ratio:
    """Ratio estimator over clusters (Cochran, Sampling Techniques, 3rd ed., eq. 6.13 and 9.30).

    One entry a row in each argument; rows with the same `units` hang together. With equal
    `bottom` per cluster it is exactly the mean of the clusters with its t interval. Raises
    NotEnoughData below two clusters or when `bottom` sums to 0.
    """
    index = labels(units)[1]
    n_clusters = int(index.max()) + 1 if len(index) else 0
    whole = float(np.sum(bottom))
    if n_clusters < 2:
        raise NotEnoughData("an interval over tasks needs two tasks (or families) or more")
    if whole <= 0:
        raise NotEnoughData("nothing to divide by")
    value = float(np.sum(top)) / whole
    residuals = np.asarray(top, float) - value * np.asarray(bottom, float)
    summed = np.bincount(index, weights=residuals, minlength=n_clusters)
    error = np.sqrt(n_clusters / (n_clusters - 1) * float((summed**2).sum())) / whole
    return Ratio(value, float(error), n_clusters)


def labels(names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The names that occur, sorted, and the place of each entry among them."""
    found, index = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return tuple(str(name) for name in found), index.astype(np.int64)


def plain_interval(found: Ratio, level: float) -> tuple[float, float]:
    """Value ± t · error, inside 0…1; see `extreme` for a share of exactly 0 or 1."""
    if found.value in (0.0, 1.0):
        return extreme(found.value, found.n_clusters, level)
    half = found.half_width(level)
    return max(0.0, found.value - half), min(1.0, found.value + half)


def logit_interval(found: Ratio, level: float) -> tuple[float, float]:
    """The same interval made on the logit scale, for shares that are skewed near 0 and 1."""
    if not 0 < found.value < 1:
        return extreme(min(max(found.value, 0.0), 1.0), found.n_clusters, level)
    center = special.logit(found.value)
    width = found.half_width(level) / (found.value * (1 - found.value))
    return float(special.expit(center - width)), float(special.expit(center + width))


def extreme(value: float, n_units: int, level: float) -> tuple[float, float]:
    """Interval of a share of 0 or 1, which has no spread to estimate an error from.

    Clopper and Pearson's, as though each unit were one draw: the least that can be known.
    """
    bound = ((1 - level) / 2) ** (1 / n_units)
    return (0.0, 1 - bound) if value == 0 else (bound, 1.0)

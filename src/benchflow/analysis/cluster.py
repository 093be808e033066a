"""The one formula under most intervals here: a ratio of sums over clusters of dependent rows.

Clusters are the units of inference: tasks, or generators where tasks share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special, stats

from benchflow.analysis.estimate import Floats, Ints, NotEnoughData

#: Below this an error is rounding: all clusters are the same.
_NO_SPREAD = 1e-12


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
        return t_quantile(level, self.freedom) * self.error


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
        raise NotEnoughData("an interval over tasks needs two tasks (or generators) or more")
    if whole <= 0:
        raise NotEnoughData("nothing to divide by")
    value = float(np.sum(top)) / whole
    residuals = np.asarray(top, float) - value * np.asarray(bottom, float)
    summed = np.bincount(index, weights=residuals, minlength=n_clusters)
    error = float(np.sqrt(n_clusters / (n_clusters - 1) * float((summed**2).sum())) / whole)
    return Ratio(value, error if error > _NO_SPREAD else 0.0, n_clusters)


def labels(names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The names that occur, sorted, and the place of each entry among them."""
    found = sorted(set(names))
    place = {name: at for at, name in enumerate(found)}
    return tuple(map(str, found)), np.fromiter(map(place.__getitem__, names), np.int64, len(names))


@cache
def t_quantile(level: float, freedom: int) -> float:
    """Half of the two-sided t interval at `level`, in standard errors."""
    return float(stats.t.ppf((1 + level) / 2, freedom))


@cache
def normal_quantile(level: float) -> float:
    """The same of the normal distribution."""
    return float(stats.norm.ppf((1 + level) / 2))


def plain_interval(found: Ratio, level: float) -> tuple[float, float]:
    """Value ± t · error, inside 0…1; `no_spread` where all clusters are the same."""
    if found.error == 0:
        return no_spread(found.value, found.n_clusters, level)
    half = found.half_width(level)
    return max(0.0, found.value - half), min(1.0, found.value + half)


def logit_interval(found: Ratio, level: float) -> tuple[float, float]:
    """The same interval made on the logit scale, for shares that are skewed near 0 and 1."""
    if found.error == 0:
        return no_spread(found.value, found.n_clusters, level)
    center = special.logit(found.value)
    width = found.half_width(level) / (found.value * (1 - found.value))
    return float(special.expit(center - width)), float(special.expit(center + width))


def no_spread(value: float, n_units: int, level: float) -> tuple[float, float]:
    """Interval of a share that is the same in every unit, so that no error can be estimated.

    Units that are otherwise may have been missed: as large a share of all as Clopper and Pearson's
    interval allows after seeing none among `n_units`. They may be all 0, or all 1.
    """
    missed = unseen(n_units, level)
    return value * (1 - missed), value * (1 - missed) + missed


def unseen(n_units: int, level: float) -> float:
    """Upper end of Clopper and Pearson's interval for a share of which `n_units` held none."""
    return float(1 - ((1 - level) / 2) ** (1 / n_units))

"""Effects of factors with every task's own difficulty taken out, errors clustered.

Least squares on task fixed effects (the within transformation); the covariance is statsmodels'
cluster-robust one with its small-sample factor, t on (clusters - 1) degrees of freedom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.cluster import labels
from benchflow.analysis.compare import holm, smallest_detectable
from benchflow.analysis.estimate import Floats, NotEnoughData


@dataclass(frozen=True)
class Effects:
    """One effect a name, with interval at `level`; p corrected after Holm over all of `names`.

    `smallest_detectable`: the true effect that such data finds in 80 % of draws, uncorrected.
    """

    names: tuple[str, ...]
    effect: Floats
    low: Floats
    high: Floats
    p: Floats
    p_corrected: Floats
    smallest_detectable: Floats
    level: float

    def decided(self) -> tuple[bool, ...]:
        """Per name, whether the data supports that it is not 0, after correction."""
        return tuple(bool(p < 1 - self.level) for p in self.p_corrected)


@dataclass(frozen=True)
class Fit:
    """Coefficients of the design's columns, their covariance, and the number of clusters."""

    coefficients: Floats
    covariance: Floats
    n_clusters: int


def fit(values: Floats, design: Floats, tasks: Sequence[str], units: Sequence[str]) -> Fit:
    """Regresses `values` (rows) on `design` (rows × columns) and an effect of each task.

    `units`: the clusters, one entry a row; those without a task of two rows do not count. Raises
    NotEnoughData below two clusters, when nothing is left to estimate an error from, or when the
    rows of the same tasks do not tell the columns apart.
    """
    from statsmodels.regression.linear_model import OLS

    # The only row of a task equals its task's effect: it says nothing, and counted as a cluster it
    # would make the errors look better known than they are.
    rows = Counter(tasks)
    kept = [at for at, name in enumerate(tasks) if rows[name] > 1]
    values, design = values[kept], design[kept]
    names, unit = labels([units[at] for at in kept])
    task = labels([tasks[at] for at in kept])[1]
    n_clusters = len(names)
    if n_clusters < 2:
        raise NotEnoughData("two tasks (or generators) or more that several ran are needed")
    counts = np.bincount(task)
    inside = design - _means(design, task, counts)
    left = values - np.bincount(task, weights=values)[task] / counts[task]
    if np.linalg.matrix_rank(inside) < inside.shape[1]:
        raise NotEnoughData("the tasks that were run do not tell these effects apart")
    if len(values) - len(counts) <= inside.shape[1]:
        raise NotEnoughData("too few rows: nothing is left to estimate an error from")
    fitted = OLS(left, inside).fit(cov_type="cluster", cov_kwds={"groups": unit})
    if float(np.abs(fitted.resid).max()) < 1e-9:
        raise NotEnoughData("every task shows exactly the same: there is no spread to judge it by")
    return Fit(np.asarray(fitted.params, float), np.asarray(fitted.cov_params(), float), n_clusters)


def effects(
    found: Fit, contrasts: Floats, names: Sequence[str], level: float, first: int = 0
) -> Effects:
    """Linear combinations (rows of `contrasts`) of the coefficients from `first` on.

    One whose error cannot be estimated (no task differs) has NaN for an interval and p = 1.
    """
    columns = slice(first, first + contrasts.shape[1])
    value = contrasts @ found.coefficients[columns]
    covariance = contrasts @ found.covariance[columns, columns] @ contrasts.T
    error = np.sqrt(np.maximum(np.diag(covariance), 0))
    error[error < 1e-9] = np.nan
    freedom = found.n_clusters - 1
    width = stats.t.ppf((1 + level) / 2, freedom) * error
    p: Floats = np.nan_to_num(2 * stats.t.sf(np.abs(value) / error, freedom), nan=1.0)
    return Effects(
        names=tuple(names),
        effect=value,
        low=value - width,
        high=value + width,
        p=p,
        p_corrected=np.array(holm(list(p))),
        smallest_detectable=np.array(
            [smallest_detectable(float(one), found.n_clusters, level) for one in error]
        ),
        level=level,
    )


def sum_to_zero(n: int) -> Floats:
    """Maps n - 1 free coefficients to n effects with mean 0: shape (n, n - 1)."""
    return np.vstack([np.eye(n - 1), -np.ones(n - 1)])


def _means(design: Floats, task: np.ndarray, counts: np.ndarray) -> Floats:
    summed = np.zeros((len(counts), design.shape[1]))
    np.add.at(summed, task, design)
    means: Floats = (summed / counts[:, None])[task]
    return means

"""How far each gets: the chance of the next milestone once it is reached, and who climbs better."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.cluster import labels
from benchflow.analysis.compare import smallest_detectable
from benchflow.analysis.estimate import Basis, Estimate, Floats, Ints, NotEnoughData, Outcomes
from benchflow.analysis.rates import rate


@dataclass(frozen=True)
class MilestoneModel:
    """A continuation-ratio logit: log-odds of passing the next milestone = milestone + group.

    `effect` per group (in the order of `groups`) is against the mean group, in logits, with
    intervals from errors clustered by task. Milestones that all or none passed say nothing of
    groups and are listed in `left_out`. `smallest_detectable`: in 80 % of draws, uncorrected.
    """

    groups: tuple[str, ...]
    effect: Floats
    low: Floats
    high: Floats
    smallest_detectable: Floats
    level: float
    left_out: tuple[int, ...]
    basis: Basis


def milestone_chances(
    furthest: Ints, n_milestones: int, tasks: Sequence[str], level: float = 0.95
) -> list[Estimate | None]:
    """Chance of passing milestone k given that it was reached, for k = 1…n_milestones.

    `furthest`: milestones passed per trial, 0…n_milestones. One that fewer than two tasks reached
    is None. Ratio estimator with tasks as clusters, as in `rates.rate`.
    """
    furthest = np.asarray(furthest)
    names, index = np.unique(np.asarray(tasks), return_inverse=True)
    chances: list[Estimate | None] = []
    for milestone in range(1, n_milestones + 1):
        reached = np.bincount(index[furthest >= milestone - 1], minlength=len(names))
        passed = np.bincount(index[furthest >= milestone], minlength=len(names))
        there = reached > 0
        if there.sum() < 2:
            chances.append(None)
            continue
        kept = tuple(str(name) for name in names[there])
        chances.append(rate(Outcomes(kept, passed[there], reached[there]), level).total)
    return chances


def sequential_logit(
    furthest: Ints,
    n_milestones: int,
    groups: Sequence[str],
    tasks: Sequence[str],
    level: float = 0.95,
) -> MilestoneModel:
    """Who climbs better, over all milestones of a straight ladder at once; one row a trial.

    `furthest`: milestones passed per trial, 0…n_milestones. Otherwise as `climb_logit`.
    """
    furthest = np.asarray(furthest)
    milestones = np.arange(1, n_milestones + 1)
    trial, milestone = np.nonzero(furthest[:, None] >= milestones[None, :] - 1)
    return climb_logit(
        furthest[trial] >= milestones[milestone],
        milestones[milestone],
        [groups[i] for i in trial.tolist()],
        [tasks[i] for i in trial.tolist()],
        n_trials=len(furthest),
        level=level,
    )


def climb_logit(
    passed: np.ndarray,
    milestones: Ints,
    groups: Sequence[str],
    tasks: Sequence[str],
    units: Sequence[str] | None = None,
    *,
    n_trials: int,
    errors: int = 0,
    level: float = 0.95,
) -> MilestoneModel:
    """Continuation-ratio logit (Tutz 1991); one row a milestone that a trial reached.

    `milestones`: which one it was (a position, or any number for a strand of its own), each with
    its own intercept. Errors are clustered by `units` (default: tasks). The effect is the one over
    the population of tasks (a marginal effect), smaller than the effect within one task. Raises
    NotEnoughData below two groups or two tasks, or when no milestone separates trials.
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    passed, milestones = np.asarray(passed, dtype=bool), np.asarray(milestones)
    names, group = labels(groups)
    unit = labels(units or tasks)[1]
    if len(names) < 2 or len(np.unique(unit)) < 2:
        raise NotEnoughData("the ladder model needs two groups and two tasks or more")
    left_out = tuple(
        int(milestone)
        for milestone in np.unique(milestones)
        if passed[milestones == milestone].all() or not passed[milestones == milestone].any()
    )
    kept = ~np.isin(milestones, left_out)
    if not kept.any():
        raise NotEnoughData("no milestone was passed by some and failed by others")
    used = np.unique(milestones[kept])
    contrast = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])
    # Rows of one milestone, group and unit have the same regressors and the same cluster: counted
    # together they give the same estimates and errors, from far fewer rows.
    alike, which = np.unique(
        np.stack([milestones[kept], group[kept], unit[kept]]), axis=1, return_inverse=True
    )
    counts = np.bincount(which.ravel())
    successes = np.bincount(which.ravel(), weights=passed[kept])
    design = np.hstack([(alike[0][:, None] == used).astype(float), contrast[alike[1]]])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise NotEnoughData("some group never reached a milestone that separates trials")
    with warnings.catch_warnings():
        # Perfect separation is refused below, with the reason.
        warnings.simplefilter("ignore")
        outcomes = np.column_stack([successes, counts - successes])
        fitted = GLM(outcomes, design, family=Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": alike[2], "use_correction": False}
        )
    n_units, n_rows, n_columns = len(np.unique(alike[2])), int(counts.sum()), design.shape[1]
    effect = contrast @ fitted.params[len(used) :]
    if n_units < 2 or not np.isfinite(effect).all() or np.abs(effect).max() > 15:
        raise NotEnoughData(
            "some group passed all milestones or none: its effect has no finite size"
        )
    covariance = contrast @ fitted.cov_params()[len(used) :, len(used) :] @ contrast.T
    if n_rows == n_columns or not (np.diag(covariance) >= 0).all():  # also: not a number
        raise NotEnoughData("the tasks are too few for a clustered standard error")
    # The correction that statsmodels makes, by the number of rows before they were counted.
    correction = n_units / (n_units - 1) * (n_rows - 1) / (n_rows - n_columns)
    error = np.sqrt(correction * np.diag(covariance))
    width = stats.t.ppf((1 + level) / 2, n_units - 1) * error
    return MilestoneModel(
        groups=names,
        effect=effect,
        low=effect - width,
        high=effect + width,
        smallest_detectable=np.array(
            [smallest_detectable(float(one), n_units, level) for one in error]
        ),
        level=level,
        left_out=left_out,
        basis=Basis(
            n_tasks=len(set(tasks)),
            n_trials=n_trials,
            n_errors=errors,
            method="continuation-ratio logit against the mean group, errors clustered by task",
        ),
    )

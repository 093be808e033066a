"""Ladders: chances of the next milestone, and who climbs better."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.ladder import climb_logit, milestone_chances, sequential_logit

from .simulate import climb


def test_milestone_chances_are_the_plain_counts() -> None:
    furthest = np.array([0, 1, 2, 2, 1, 0])
    chances = milestone_chances(furthest, 3, ["x", "x", "x", "y", "y", "y"])
    assert [round(c.value, 6) if c else None for c in chances] == [
        round(4 / 6, 6),
        round(2 / 4, 6),
        0.0,
    ]
    assert milestone_chances(np.array([0, 0]), 2, ["x", "y"])[1] is None


def test_milestones_that_separate_nobody_are_left_out() -> None:
    furthest = np.array([1, 2, 1, 2, 1, 1])
    found = sequential_logit(furthest, 3, list("aabbab"), list("xyxyzz"))
    assert found.left_out == (1, 3)
    with pytest.raises(NotEnoughData):
        sequential_logit(np.array([1, 1]), 1, ["a", "b"], ["x", "y"])


def test_the_effect_is_the_one_of_greatest_likelihood_and_its_error_the_clustered_one() -> None:
    """The same by hand: maximised with scipy, and the sandwich summed over tasks."""
    furthest, n_milestones, groups, tasks = climb(np.random.default_rng(4), 0.4, n_tasks=25)
    found = sequential_logit(furthest, n_milestones, groups, tasks)
    rows = [
        (milestone, 1.0 if group == "a" else -1.0, task, float(top > milestone))
        for top, group, task in zip(furthest, groups, tasks, strict=True)
        for milestone in range(n_milestones)
        if top >= milestone
    ]
    design = np.array([[*np.eye(n_milestones)[milestone], side] for milestone, side, _, _ in rows])
    passed = np.array([row[3] for row in rows])

    def loss(at: np.ndarray) -> float:
        return -float(special.log_expit((2 * passed - 1) * (design @ at)).sum())

    at = optimize.minimize(loss, np.zeros(n_milestones + 1), options={"gtol": 1e-8}).x
    assert found.effect[0] == pytest.approx(at[-1], abs=1e-4)
    chance = special.expit(design @ at)
    bread = np.linalg.inv(design.T @ (design * (chance * (1 - chance))[:, None]))
    scores = design * (passed - chance)[:, None]
    labels = np.array([row[2] for row in rows])
    summed = np.array([scores[labels == task].sum(axis=0) for task in np.unique(labels)])
    n, k, g = len(rows), n_milestones + 1, len(summed)
    sandwich = bread @ summed.T @ summed @ bread * g / (g - 1) * (n - 1) / (n - k)
    half = (found.high[0] - found.low[0]) / 2
    assert half == pytest.approx(2.0639 * np.sqrt(sandwich[-1, -1]), rel=1e-3)


def test_counting_like_rows_together_changes_neither_effects_nor_errors() -> None:
    """Against statsmodels with a row for each milestone that a trial reached, three groups."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    rng = np.random.default_rng(11)
    n_milestones, n = 5, 600
    groups = np.repeat(["a", "b", "c"], n // 3)
    tasks = rng.integers(0, 20, n)
    ease = rng.normal(0.8, 0.7, 20)[tasks] + np.repeat([0.5, 0.0, -0.4], n // 3)
    fell = rng.random((n, n_milestones)) > special.expit(ease)[:, None]
    furthest = np.where(fell.any(axis=1), fell.argmax(axis=1), n_milestones)
    found = sequential_logit(furthest, n_milestones, groups.tolist(), [f"t{i}" for i in tasks])

    trial, milestone = np.nonzero(furthest[:, None] >= np.arange(n_milestones))
    sides = {"a": [1, 0], "b": [0, 1], "c": [-1, -1]}
    design = np.hstack([np.eye(n_milestones)[milestone], [sides[groups[i]] for i in trial]])
    fitted = GLM((furthest[trial] > milestone).astype(float), design, family=Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": tasks[trial]}
    )
    assert found.effect[:2] == pytest.approx(fitted.params[n_milestones:], rel=1e-9)
    width = stats.t.ppf(0.975, len(np.unique(tasks)) - 1) * fitted.bse[n_milestones:]
    assert (found.high - found.effect)[:2] == pytest.approx(width, rel=1e-9)


def test_a_milestone_that_one_group_never_reached_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        climb_logit(
            np.array([True, False, True, False]),
            np.array([1, 1, 2, 2]),
            ["a", "a", "b", "b"],
            ["x", "y", "x", "y"],
            n_trials=4,
        )

"""Behaviour is compared at equal difficulty: who ran the harder tasks must not look slower."""

from __future__ import annotations

import numpy as np
import pytest

from benchflow.analysis.behaviour import adjusted
from benchflow.analysis.estimate import NotEnoughData

from .simulate import behave


def test_the_raw_means_mislead_and_the_adjusted_ones_do_not() -> None:
    values, groups, tasks, truth = behave(np.random.default_rng(1), n_tasks=3000)
    raw = [np.log(values[np.array(groups) == name]).mean() for name in ("g0", "g1", "g2")]
    assert raw[0] - raw[2] < 0.5 * np.log(truth[0] / truth[2])
    found = adjusted(values, groups, tasks, ratio=True)
    assert found.effects.effect == pytest.approx(truth, rel=0.05)
    assert found.basis.n_tasks <= 3000


def test_it_agrees_with_a_regression_on_task_dummies() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf

    values, groups, tasks, _ = behave(np.random.default_rng(2), n_tasks=40)
    cells: dict[tuple[str, str], list[float]] = {}
    for value, group, task in zip(values, groups, tasks, strict=True):
        cells.setdefault((task, group), []).append(value)
    data = {
        "y": [float(np.mean(found)) for found in cells.values()],
        "group": [group for _, group in cells],
        "task": [task for task, _ in cells],
    }
    theirs = smf.ols("y ~ C(group) + C(task)", pd.DataFrame(data)).fit()
    ours = adjusted(values, groups, tasks).effects.effect
    assert ours[1] - ours[0] == pytest.approx(theirs.params["C(group)[T.g1]"])
    assert ours.sum() == pytest.approx(0, abs=1e-9)


def test_equal_groups_are_seldom_called_different() -> None:
    generator, called = np.random.default_rng(3), 0
    tasks = [f"t{i // 6}" for i in range(240)]
    groups = ["a", "a", "b", "b", "c", "c"] * 40
    for _ in range(200):
        found = adjusted(generator.exponential(size=240), groups, tasks, ratio=True)
        called += any(found.effects.decided())
    assert called / 200 <= 0.09


def test_tasks_that_one_group_ran_make_nothing_surer() -> None:
    """They have nothing within them, so they are no clusters to count on."""
    generator = np.random.default_rng(4)
    values, groups, tasks = generator.normal(size=8), list("abababab"), list("xxyyzzww")
    alone = [f"only {i}" for i in range(60)]
    own, only_a = generator.normal(size=60), ["a"] * 60
    found = adjusted(values, groups, tasks).effects
    more = adjusted(np.append(values, own), groups + only_a, tasks + alone).effects
    assert more.low == pytest.approx(found.low)
    assert more.high == pytest.approx(found.high)
    with pytest.raises(NotEnoughData, match="that several ran"):
        adjusted(np.append(values[:2], own), groups[:2] + only_a, tasks[:2] + alone)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(NotEnoughData, match="two or more"):
        adjusted(np.ones(4), ["a"] * 4, list("xxyy"))
    with pytest.raises(NotEnoughData):
        adjusted(np.arange(4.0), ["a", "a", "b", "b"], list("xyzw"))
    with pytest.raises(ValueError, match="above 0"):
        adjusted(np.array([0.0, 1.0]), ["a", "b"], ["x", "x"], ratio=True)

"""Budgets: a smaller one only lowers scores, never the denominator; the front is honest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchflow.analysis.budget import budgeted, pareto, rate_within
from benchflow.analysis.estimate import NotEnoughData


def test_the_denominator_is_always_all_trials() -> None:
    spent, won = np.array([1.0, 5.0, 2.0, 9.0]), np.array([True, True, False, True])
    tasks = ["x", "x", "y", "y"]
    assert rate_within(spent, won, tasks, budget=9).value == 3 / 4
    assert rate_within(spent, won, tasks, budget=5).value == 2 / 4
    assert rate_within(spent, won, tasks, budget=0.5).value == 0


def test_scores_rise_with_the_budget_and_failures_need_no_record() -> None:
    spent, won = np.array([1.0, 5.0, np.nan, 9.0]), np.array([True, True, False, True])
    found = budgeted(spent, won, ["x", "x", "y", "y"], np.array([0.5, 1, 6, 10]), errors=3)
    assert [rate.value for rate in found.rates] == [0, 1 / 4, 2 / 4, 3 / 4]
    assert found.rates[0].n_errors == 3
    assert found.unknown == 0


def test_successes_without_a_record_are_refused() -> None:
    spent, won = np.array([1.0, np.nan, np.nan, 9.0]), np.array([True, True, False, True])
    with pytest.raises(NotEnoughData, match="1 of 3 successes"):
        budgeted(spent, won, ["x", "x", "y", "y"], np.array([5.0]))


def test_nobody_on_the_front_is_beaten_in_both() -> None:
    same = np.zeros(10)
    shares = {"best": same + 0.9, "cheap": same + 0.5, "bad": same + 0.4}
    costs = {"best": same + 9, "cheap": same + 1, "bad": same + 2}
    front = pareto(shares, costs)
    assert front.on_front == (True, True, False)
    assert front.chance == pytest.approx([1, 1, 0])


def test_a_score_on_the_front_has_the_interval_of_its_own_tasks() -> None:
    won = np.array([1.0, 0.5, 0.0, 1.0, 0.5, 0.0, 0.5, 0.5])
    front = pareto({"a": won, "b": won}, {"a": won + 1, "b": won + 2}, level=0.9)
    expected = stats.t.interval(0.9, 7, loc=won.mean(), scale=stats.sem(won))
    assert (front.low[0], front.high[0]) == pytest.approx(expected)
    with pytest.raises(NotEnoughData, match="generators"):
        pareto({"a": won}, {"a": won}, units=["one"] * 8)


def test_equals_are_on_the_front_together_and_doubt_is_shown() -> None:
    generator = np.random.default_rng(2)
    close = {"a": generator.random(30), "b": generator.random(30)}
    cost = {"a": np.ones(30), "b": np.ones(30)}
    chance = pareto(close, cost).chance
    assert 0 < chance.min() < chance.max() <= 1
    equal = pareto({"a": close["a"], "b": close["a"]}, cost)
    assert equal.on_front == (True, True)


def test_the_chance_agrees_with_redrawing_by_hand() -> None:
    generator = np.random.default_rng(5)
    shares = {name: generator.random(25) for name in "abc"}
    costs = {name: generator.random(25) for name in "abc"}
    front = pareto(shares, costs, draws=4000)
    kept = np.zeros(3)
    for _ in range(4000):
        pick = generator.integers(0, 25, size=25)
        score = [shares[name][pick].mean() for name in "abc"]
        cost = [costs[name][pick].mean() for name in "abc"]
        for i in range(3):
            kept[i] += not any(
                score[j] > score[i] and cost[j] < cost[i] for j in range(3) if j != i
            )
    assert front.chance == pytest.approx(kept / 4000, abs=0.03)
    assert front.basis.seed == 0

"""Budgets: a smaller one only lowers scores, never the denominator; the front is honest."""

from __future__ import annotations

import numpy as np
import pytest

from benchflow.analysis.budget import pareto, rate_within

from .simulate import SHAPE, coverage


def test_the_denominator_is_always_all_trials() -> None:
    spent, won = np.array([1.0, 5.0, 2.0, 9.0]), np.array([True, True, False, True])
    tasks = ["x", "x", "y", "y"]
    assert rate_within(spent, won, tasks, budget=9).value == 3 / 4
    assert rate_within(spent, won, tasks, budget=5).value == 2 / 4
    assert rate_within(spent, won, tasks, budget=0.5).value == 0


def test_the_rate_within_a_budget_covers() -> None:
    generator, hits, draws = np.random.default_rng(1), 0, 1000
    tasks = [f"t{i // 5}" for i in range(300)]
    truth = SHAPE[0] / sum(SHAPE) * (1 - np.exp(-1))
    for _ in range(draws):
        won = generator.random(300) < np.repeat(generator.beta(*SHAPE, size=60), 5)
        found = rate_within(generator.exponential(10, size=300), won, tasks, budget=10)
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / draws <= 0.97, coverage(hits, draws)


def test_nobody_on_the_front_is_beaten_in_both() -> None:
    same = np.zeros(10)
    shares = {"best": same + 0.9, "cheap": same + 0.5, "bad": same + 0.4}
    costs = {"best": same + 9, "cheap": same + 1, "bad": same + 2}
    front = pareto(shares, costs)
    assert front.on_front == (True, True, False)
    assert front.chance == pytest.approx([1, 1, 0])


def test_equals_are_on_the_front_together_and_doubt_is_shown() -> None:
    generator = np.random.default_rng(2)
    close = {"a": generator.random(30), "b": generator.random(30)}
    cost = {"a": np.ones(30), "b": np.ones(30)}
    chance = pareto(close, cost).chance
    assert 0 < chance.min() < chance.max() <= 1
    equal = pareto({"a": close["a"], "b": close["a"]}, cost)
    assert equal.on_front == (True, True)

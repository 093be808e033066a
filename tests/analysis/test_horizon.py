"""Horizon: found where the data carries it, refused in words where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from benchflow.analysis.estimate import Outcomes
from benchflow.analysis.horizon import horizon

from .simulate import HORIZON, long_tasks


def test_it_finds_the_horizon_of_much_data() -> None:
    found = horizon(*long_tasks(np.random.default_rng(2), n_tasks=4000)).estimate
    assert found is not None
    assert found.value == pytest.approx(HORIZON, rel=0.08)


def test_it_refuses_in_words() -> None:
    generator = np.random.default_rng(3)
    data, minutes = long_tasks(generator, n_tasks=8)
    assert horizon(data, minutes).refused == "fewer than 10 tasks"
    data, minutes = long_tasks(generator, slope=0.0)
    assert horizon(data, minutes).refused == "success does not fall clearly with length"
    data, minutes = long_tasks(generator)
    assert "fourfold" in horizon(data, np.full(len(minutes), 30.0)).refused
    never = Outcomes(data.tasks, np.zeros(60, dtype=int), data.trials)
    assert horizon(never, minutes).refused == "all trials ended alike"


def test_a_horizon_beyond_the_longest_task_is_refused() -> None:
    generator = np.random.default_rng(4)
    length = generator.uniform(0, 4, size=80)
    wins = generator.binomial(5, special.expit(-0.8 * (length - 6)))
    data = Outcomes(tuple(f"t{i}" for i in range(80)), wins, np.full(80, 5))
    assert "outside the lengths" in horizon(data, 2**length).refused


def test_an_interval_that_says_nothing_is_refused_and_overflows_nowhere() -> None:
    """The slope is hardly told from 0: one end lies beyond any number of minutes."""
    refused, generator = 0, np.random.default_rng(5)
    for _ in range(400):
        data, minutes = long_tasks(generator, n_tasks=12, slope=-0.25)
        found = horizon(data, minutes)
        refused += "thousandfold" in found.refused
        if found.estimate:
            assert found.estimate.high <= 1024 * minutes.max()
            assert found.estimate.low >= minutes.min() / 1024
    assert refused


def test_tasks_of_a_family_are_one_unit() -> None:
    data, minutes = long_tasks(np.random.default_rng(7), n_tasks=30)
    copies = tuple(f"{task} {copy}" for task in data.tasks for copy in range(4))
    again = Outcomes(
        copies,
        np.repeat(data.successes, 4),
        np.repeat(data.trials, 4),
        generators=tuple(task for task in data.tasks for _ in range(4)),
    )
    one, four = horizon(data, minutes).estimate, horizon(again, np.repeat(minutes, 4)).estimate
    assert one and four
    assert four.value == pytest.approx(one.value)
    assert (four.low, four.high) == pytest.approx((one.low, one.high), rel=0.05)
    few = Outcomes(copies, again.successes, again.trials, generators=("a", "b") * 60)
    assert horizon(few, np.repeat(minutes, 4)).refused == "fewer than 10 generators of tasks"


def test_the_interval_agrees_with_redrawn_tasks() -> None:
    generator = np.random.default_rng(7)
    data, minutes = long_tasks(generator, n_tasks=120)
    found = horizon(data, minutes).estimate
    assert found is not None
    drawn = []
    for _ in range(200):
        pick = generator.integers(0, 120, size=120)
        again = Outcomes(
            tuple(f"r{i}" for i in range(120)), data.successes[pick], data.trials[pick]
        )
        one = horizon(again, minutes[pick]).estimate
        drawn.append(one.value if one else np.nan)
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    assert np.log2(high / low) == pytest.approx(np.log2(found.high / found.low), rel=0.25)

"""Horizon: found where the data carries it, refused in words where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from benchflow.analysis.estimate import Outcomes
from benchflow.analysis.horizon import horizon

from .simulate import coverage

TRUTH = 60.0


def draw(
    generator: np.random.Generator, n_tasks: int = 60, slope: float = -0.9, own: float = 0.8
) -> tuple[Outcomes, np.ndarray]:
    """Tasks of 1…960 minutes; half are solved at 60 minutes; tasks differ beyond their length."""
    length = generator.uniform(0, 9.9, size=n_tasks)
    logit = slope * (length - np.log2(TRUTH)) + generator.normal(0, own, size=n_tasks)
    wins = generator.binomial(5, special.expit(logit))
    return Outcomes(tuple(f"t{i}" for i in range(n_tasks)), wins, np.full(n_tasks, 5)), 2**length


def test_the_interval_covers() -> None:
    generator, hits, given = np.random.default_rng(1), 0, 0
    for _ in range(1000):
        found = horizon(*draw(generator)).estimate
        if found is not None:
            given += 1
            hits += found.low <= TRUTH <= found.high
    assert given > 950
    assert 0.92 <= hits / given <= 0.97, coverage(hits, given)


def test_it_finds_the_horizon_of_much_data() -> None:
    found = horizon(*draw(np.random.default_rng(2), n_tasks=4000)).estimate
    assert found is not None
    assert found.value == pytest.approx(TRUTH, rel=0.08)


def test_it_refuses_in_words() -> None:
    generator = np.random.default_rng(3)
    data, minutes = draw(generator, n_tasks=8)
    assert horizon(data, minutes).refused == "fewer than 10 tasks"
    data, minutes = draw(generator, slope=0.0)
    assert horizon(data, minutes).refused == "success does not fall clearly with length"
    data, minutes = draw(generator)
    assert "fourfold" in horizon(data, np.full(len(minutes), 30.0)).refused
    never = Outcomes(data.tasks, np.zeros(60, dtype=int), data.trials)
    assert horizon(never, minutes).refused == "all trials ended alike"


def test_a_horizon_beyond_the_longest_task_is_refused() -> None:
    generator = np.random.default_rng(4)
    length = generator.uniform(0, 4, size=80)
    wins = generator.binomial(5, special.expit(-0.8 * (length - 6)))
    data = Outcomes(tuple(f"t{i}" for i in range(80)), wins, np.full(80, 5))
    assert "outside the lengths" in horizon(data, 2**length).refused

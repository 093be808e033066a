"""Rates equal the plain count, and their intervals cover the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchflow.analysis.estimate import NotEnoughData, Outcomes
from benchflow.analysis.passk import pass_k
from benchflow.analysis.rates import bootstrap_rate, noise_of, rate

from .simulate import SHAPE, TRUE_RATE, coverage, outcomes

DRAWS = 1000


def some(successes: list[int], trials: list[int]) -> Outcomes:
    return Outcomes(
        tuple(f"t{i}" for i in range(len(trials))), np.array(successes), np.array(trials)
    )


def test_the_value_is_the_plain_count_to_the_last_digit() -> None:
    assert rate(some([1, 2, 0], [3, 4, 2])).total.value == 3 / 9


def test_balanced_data_gives_the_t_interval_on_task_means() -> None:
    data = some([5, 3, 0, 1, 4], [5] * 5)
    low, high = stats.t.interval(0.95, 4, loc=data.shares.mean(), scale=stats.sem(data.shares))
    assert rate(data).total.high == pytest.approx(min(1, high))
    assert rate(data).total.low == pytest.approx(max(0, low))


def test_the_noises_add_up_and_are_named() -> None:
    noise = noise_of(outcomes(np.random.default_rng(1), 60))
    assert noise.rerun is not None
    assert noise.tasks is not None
    assert noise.total**2 == pytest.approx(noise.rerun**2 + noise.tasks**2)


def test_one_attempt_a_task_cannot_tell_re_run_noise() -> None:
    result = rate(some([1, 0, 1], [1, 1, 1]))
    assert result.rerun_only is None
    assert result.noise.tasks is None


def test_too_little_data_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        rate(some([1], [5]))
    with pytest.raises(ValueError, match="more successes"):
        some([6, 1], [5, 5])
    with pytest.raises(NotEnoughData):
        pass_k(some([1, 1], [2, 2]), k=3)


@pytest.mark.parametrize("n_tasks", [20, 80])
def test_the_rates_interval_covers(n_tasks: int) -> None:
    generator = np.random.default_rng(7)
    hits = 0
    for _ in range(DRAWS):
        estimate = rate(outcomes(generator, n_tasks)).total
        hits += estimate.low <= TRUE_RATE <= estimate.high
    assert 0.92 <= hits / DRAWS <= 0.97, coverage(hits, DRAWS)


def test_the_usual_interval_does_not_cover_other_tasks() -> None:
    """What published tables print as “±” holds the truth over tasks far too seldom."""
    generator = np.random.default_rng(7)
    hits = 0
    for _ in range(DRAWS):
        estimate = rate(outcomes(generator, 80)).rerun_only
        assert estimate is not None
        hits += estimate.low <= TRUE_RATE <= estimate.high
    assert hits / DRAWS < 0.75, coverage(hits, DRAWS)


def test_the_re_run_interval_covers_the_rate_on_these_very_tasks() -> None:
    generator = np.random.default_rng(8)
    difficulty = generator.beta(*SHAPE, size=60)
    names = tuple(f"t{i}" for i in range(60))
    hits = 0
    for _ in range(DRAWS):
        drawn = generator.binomial(5, difficulty)
        estimate = rate(Outcomes(names, drawn, np.full(60, 5))).rerun_only
        assert estimate is not None
        hits += estimate.low <= difficulty.mean() <= estimate.high
    assert 0.92 <= hits / DRAWS <= 0.97, coverage(hits, DRAWS)


def test_the_bootstrap_agrees_with_the_formula() -> None:
    data = outcomes(np.random.default_rng(3), 80)
    formula, resampled = rate(data).total, bootstrap_rate(data)
    assert resampled.seed == 0
    assert resampled.half_width == pytest.approx(formula.half_width, rel=0.08)


def test_pass_at_one_is_the_mean_of_task_means_and_k_orders_as_it_must() -> None:
    data = outcomes(np.random.default_rng(4), 50)
    assert pass_k(data, 1).value == pytest.approx(data.shares.mean())
    assert pass_k(data, 5).value > pass_k(data, 2).value > pass_k(data, 2, "all").value
    assert pass_k(data, 5, "all").value == pytest.approx((data.successes == 5).mean())


@pytest.mark.parametrize("kind", ["any", "all"])
def test_pass_k_covers(kind: str) -> None:
    generator = np.random.default_rng(9)
    population = generator.beta(*SHAPE, size=2_000_000)
    truth = float((1 - (1 - population) ** 3).mean() if kind == "any" else (population**3).mean())
    hits = 0
    for _ in range(DRAWS):
        estimate = pass_k(outcomes(generator, 60), 3, "any" if kind == "any" else "all")
        hits += estimate.low <= truth <= estimate.high
    assert 0.92 <= hits / DRAWS <= 0.97, coverage(hits, DRAWS)

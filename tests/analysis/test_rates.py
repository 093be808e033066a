"""Rates equal the plain count, and their intervals cover the truth as often as they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from benchflow.analysis.estimate import NotEnoughData, Outcomes
from benchflow.analysis.passk import pass_k
from benchflow.analysis.rates import (
    MORE_THAN_ALL,
    TRIED_ONCE,
    bootstrap_rate,
    noise_of,
    rate,
)

from .simulate import TRUE_RATE, in_generators, outcomes

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


def test_the_half_widths_are_the_same_three_at_the_level() -> None:
    found = rate(outcomes(np.random.default_rng(1), 60))
    assert found.rerun_only is not None
    assert found.plus_minus.rerun == pytest.approx(found.rerun_only.half_width)
    assert found.plus_minus.total == pytest.approx(found.total.half_width)
    assert found.plus_minus.tasks is not None
    assert found.plus_minus.tasks < found.plus_minus.total


def test_tasks_of_one_family_are_one_unit() -> None:
    data = in_generators(np.random.default_rng(2), 20, 4)
    alone = Outcomes(data.tasks, data.successes, data.trials)
    assert rate(data).total.value == rate(alone).total.value
    assert rate(data).total.half_width > 1.3 * rate(alone).total.half_width
    assert rate(data).total.method == "t over generators (ratio)"
    resampled = bootstrap_rate(data).half_width
    assert resampled == pytest.approx(rate(data).total.half_width, rel=0.15)
    whole = np.bincount(np.arange(80) // 4, weights=data.shares) / 4
    low, high = stats.t.interval(0.95, 19, loc=whole.mean(), scale=stats.sem(whole))
    assert (rate(data).total.low, rate(data).total.high) == pytest.approx((low, high))


def test_nothing_solved_still_has_an_interval() -> None:
    found = rate(some([0] * 20, [5] * 20)).total
    assert found.low == 0
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert rate(some([5] * 20, [5] * 20)).total.low == pytest.approx(0.025 ** (1 / 20))


def test_tasks_that_are_all_or_nothing_do_not_make_re_runs_certain() -> None:
    found = rate(some([5, 5, 0, 0, 0], [5] * 5))
    assert found.rerun_only is not None
    assert found.rerun_only.low < 0.4 < found.rerun_only.high
    assert found.plus_minus.rerun == pytest.approx((1 - 0.025 ** (1 / 25)) / 2)
    solved = rate(some([5] * 20, [5] * 20))
    assert solved.rerun_only is not None
    assert solved.plus_minus.rerun == pytest.approx(solved.rerun_only.half_width)
    assert solved.rerun_only.half_width > 0
    assert solved.plus_minus.tasks is None


def test_one_attempt_a_task_cannot_tell_re_run_noise() -> None:
    result = rate(some([1, 0, 1], [1, 1, 1]))
    assert result.rerun_only is None
    assert result.noise.tasks is None
    assert result.parts_unknown == TRIED_ONCE


def test_one_task_tried_twice_says_nothing_of_the_re_runs_of_all_others() -> None:
    """As in results/: 21 tasks, of which one was tried twice, with equal outcomes."""
    found = rate(some([2] + [1] * 13 + [0] * 7, [2] + [1] * 20))
    assert found.parts_unknown == TRIED_ONCE
    assert found.rerun_only is None
    assert (found.plus_minus.rerun, found.plus_minus.tasks) == (None, None)
    assert found.plus_minus.total > 0.2
    assert rate(some([2, 1, 2, 0, 1], [2, 2, 2, 1, 1])).parts_unknown == ""


def test_no_part_exceeds_the_whole() -> None:
    larger = rate(some([2, 3, 3, 2], [5, 5, 5, 5]))
    assert larger.parts_unknown == MORE_THAN_ALL
    assert (larger.noise.rerun, larger.noise.tasks, larger.rerun_only) == (None, None, None)
    generator = np.random.default_rng(11)
    told = 0
    for _ in range(300):
        trials = generator.integers(1, 5, size=5)
        found = rate(some(generator.binomial(trials, 0.5).tolist(), trials.tolist()))
        if found.plus_minus.rerun is not None:
            told += 1
            assert found.plus_minus.rerun <= found.plus_minus.total
            assert found.parts_unknown == ""
        else:
            assert found.parts_unknown in (TRIED_ONCE, MORE_THAN_ALL)
    assert 50 < told < 290


def test_too_little_data_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        rate(some([1], [5]))
    with pytest.raises(ValueError, match="more successes"):
        some([6, 1], [5, 5])
    with pytest.raises(NotEnoughData):
        pass_k(some([1, 1], [2, 2]), k=3)


def test_the_usual_interval_does_not_cover_other_tasks() -> None:
    """What published tables print as “±” holds the truth over tasks far too seldom."""
    generator = np.random.default_rng(7)
    hits = 0
    for _ in range(DRAWS):
        estimate = rate(outcomes(generator, 80)).rerun_only
        assert estimate is not None
        hits += estimate.low <= TRUE_RATE <= estimate.high
    assert hits / DRAWS < 0.75


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


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_k_is_what_trying_every_choice_of_k_attempts_gives(k: int) -> None:
    data = some([2, 0, 5, 3], [5, 5, 5, 4])
    usable = [i for i in range(4) if data.trials[i] >= k]
    any_of, all_of = [], []
    for i in usable:
        tries = [1] * int(data.successes[i]) + [0] * int(data.trials[i] - data.successes[i])
        choices = list(itertools.combinations(tries, k))
        any_of.append(np.mean([max(choice) for choice in choices]))
        all_of.append(np.mean([min(choice) for choice in choices]))
    assert pass_k(data, k).value == pytest.approx(np.mean(any_of))
    assert pass_k(data, k, "all").value == pytest.approx(np.mean(all_of))
    assert pass_k(data, k).n_tasks == len(usable)

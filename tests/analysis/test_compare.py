"""Differences are paired, corrected, and never called where the data cannot see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from statsmodels.stats.multitest import multipletests

from benchflow.analysis.compare import all_pairs, holm, needed, paired, smallest_detectable, tiers
from benchflow.analysis.estimate import NotEnoughData, Outcomes

from .simulate import coverage

DRAWS = 1000


def two(
    generator: np.random.Generator, shift: float, n_tasks: int = 60, attempts: int = 5
) -> tuple[Outcomes, Outcomes]:
    """Two models on the same fresh tasks, apart by `shift` on the logit scale."""
    base = generator.normal(-1, 2, size=n_tasks)
    names = tuple(f"t{i}" for i in range(n_tasks))
    made = [
        Outcomes(
            names,
            generator.binomial(attempts, special.expit(base + extra)),
            np.full(n_tasks, attempts),
        )
        for extra in (shift, 0.0)
    ]
    return made[0], made[1]


def true_difference(shift: float) -> float:
    base = np.random.default_rng(0).normal(-1, 2, size=4_000_000)
    return float((special.expit(base + shift) - special.expit(base)).mean())


def test_it_is_scipys_paired_t_test() -> None:
    a, b = two(np.random.default_rng(1), 0.8)
    expected = stats.ttest_rel(a.shares, b.shares)
    ours = paired(a, b)
    assert ours.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (ours.difference.low, ours.difference.high) == pytest.approx(tuple(interval))
    assert ours.p_sign_flip == pytest.approx(ours.p, abs=0.02)


def test_only_common_tasks_count() -> None:
    a = Outcomes(("x", "y", "z"), np.array([1, 0, 5]), np.array([5, 5, 5]))
    b = Outcomes(("z", "y", "w"), np.array([1, 1, 1]), np.array([5, 5, 5]))
    assert paired(a, b).difference.value == pytest.approx((4 / 5 - 1 / 5) / 2)
    assert paired(a, b).difference.n_tasks == 2
    with pytest.raises(NotEnoughData):
        paired(a, Outcomes(("z",), np.array([1]), np.array([5])))


def test_the_interval_of_a_difference_covers() -> None:
    generator, truth, hits = np.random.default_rng(2), true_difference(1.0), 0
    for _ in range(DRAWS):
        estimate = paired(*two(generator, 1.0), draws=10).difference
        hits += estimate.low <= truth <= estimate.high
    assert 0.92 <= hits / DRAWS <= 0.97, coverage(hits, DRAWS)


def test_equal_models_are_called_different_as_seldom_as_promised() -> None:
    generator = np.random.default_rng(3)
    called = sum(paired(*two(generator, 0.0), draws=10).decided for _ in range(DRAWS))
    assert 0.03 <= called / DRAWS <= 0.075


def test_holm_agrees_with_statsmodels() -> None:
    values = [0.04, 0.001, 0.03, 0.5, 0.012, 0.04]
    assert holm(values) == pytest.approx(list(multipletests(values, method="holm")[1]))


def test_holm_keeps_the_chance_of_any_false_call_over_many_pairs() -> None:
    generator, wrong, draws = np.random.default_rng(4), 0, 300
    for _ in range(draws):
        a, b = two(generator, 0.0)
        c, d = two(generator, 0.0)
        table = {"a": a, "b": b, "c": c, "d": d}
        independent = all_pairs(table, draws=10)
        wrong += any(comparison.decided for comparison in independent.values())
    assert wrong / draws <= 0.08


def test_the_smallest_detectable_difference_is_found_four_times_in_five() -> None:
    generator, n_tasks, found = np.random.default_rng(5), 40, 0
    effect = smallest_detectable(1 / np.sqrt(n_tasks), n_tasks)
    for _ in range(DRAWS):
        draw = generator.normal(effect, 1, size=n_tasks)
        found += stats.ttest_1samp(draw, 0).pvalue < 0.05
    assert found / DRAWS == pytest.approx(0.8, abs=0.04)


def test_what_is_needed_does_separate() -> None:
    generator = np.random.default_rng(6)
    a, b = two(generator, 0.5, n_tasks=20_000, attempts=5)
    need = needed(a, b)
    assert need.tasks is not None
    found = sum(
        paired(*two(generator, 0.5, n_tasks=need.tasks), draws=10).p < 0.05 for _ in range(300)
    )
    assert found / 300 == pytest.approx(0.8, abs=0.1)


def test_no_number_of_attempts_helps_when_the_tasks_disagree() -> None:
    names = tuple(f"t{i}" for i in range(10))
    a = Outcomes(names, np.array([5, 0] * 5), np.full(10, 5))
    b = Outcomes(names, np.array([0, 5, 0, 5, 0, 5, 0, 5, 0, 4]), np.full(10, 5))
    assert needed(a, b).attempts is None
    assert needed(a, a) == type(needed(a, a))(tasks=None, attempts=None)


def test_tiers_hold_what_cannot_be_told_apart() -> None:
    generator = np.random.default_rng(10)
    names = tuple(f"t{i}" for i in range(80))

    def model(chance: float) -> Outcomes:
        return Outcomes(names, generator.binomial(5, chance, size=80), np.full(80, 5))

    table = {
        "weak": model(0.1),
        "strong": model(0.8),
        "also strong": model(0.8),
        "fair": model(0.4),
    }
    found = tiers(table)
    assert [set(tier) for tier in found] == [{"strong", "also strong"}, {"fair"}, {"weak"}]

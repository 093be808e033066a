"""Differences are paired, corrected, and never called where the data cannot see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchflow.analysis.compare import all_pairs, holm, needed, paired, smallest_detectable, tiers
from benchflow.analysis.estimate import NotEnoughData, Outcomes

from .simulate import two, two_in_generators

DRAWS = 1000


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


def test_equal_models_are_called_different_as_seldom_as_promised() -> None:
    generator = np.random.default_rng(3)
    called = sum(paired(*two(generator, 0.0), draws=10).decided for _ in range(DRAWS))
    assert 0.03 <= called / DRAWS <= 0.075


def test_holm_agrees_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

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


def test_no_tiers_put_the_loser_of_the_common_tasks_above_the_winner() -> None:
    easy, common = tuple(f"e{i}" for i in range(60)), tuple(f"c{i}" for i in range(20))
    a = Outcomes((*easy, *common), np.array([5] * 60 + [0] * 20), np.full(80, 5))
    b = Outcomes(common, np.array([3, 4] * 10), np.full(20, 5))
    pair = all_pairs({"a": a, "b": b})["a", "b"]
    assert pair.decided and pair.difference.value < 0
    assert tiers({"a": a, "b": b}) == tiers({"b": b, "a": a}) == []
    weaker = Outcomes(common, np.array([1, 2] * 10), np.full(20, 5))
    assert tiers({"a": b, "b": weaker}) == [["a"], ["b"]]


def test_differences_of_one_family_are_one_unit() -> None:
    a, b = two_in_generators(np.random.default_rng(3), 20, 4)
    found = paired(a, b)
    whole = (a.shares - b.shares).reshape(20, 4).mean(axis=1)
    expected = stats.ttest_1samp(whole, 0)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.difference.low == pytest.approx(expected.confidence_interval(0.95).low)
    assert found.p_sign_flip == pytest.approx(found.p, abs=0.02)


def test_two_tasks_that_agree_prove_nothing() -> None:
    """Every task differs by the same: no spread, and yet no certainty."""
    all_won = Outcomes(("x", "y"), np.array([1, 1]), np.array([1, 1]))
    none = Outcomes(("x", "y"), np.array([0, 0]), np.array([1, 1]))
    found = paired(all_won, none)
    assert found.p == 0.5
    assert found.difference.low < 0 < found.difference.value
    same = paired(none, none)
    assert same.p == 1
    assert same.difference.low < 0 < same.difference.high
    names = tuple(f"t{i}" for i in range(12))
    ten = Outcomes(names, np.ones(12, dtype=int), np.ones(12, dtype=int))
    nothing = Outcomes(names, np.zeros(12, dtype=int), np.ones(12, dtype=int))
    assert paired(ten, nothing).decided
    assert paired(ten, nothing).difference.low > 0


def test_pairs_without_common_tasks_are_left_out_and_the_others_stay() -> None:
    generator = np.random.default_rng(11)
    a, b = two(generator, 2.0)
    apart = Outcomes(("other", "tasks"), np.array([1, 0]), np.array([1, 1]))
    table = {"a": a, "b": b, "apart": apart}
    assert list(all_pairs(table)) == [("a", "b")]
    assert {name for tier in tiers(table) for name in tier} == {"a", "b", "apart"}

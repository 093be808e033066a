"""One comparison in words: what would decide it is said only where more data can."""

from __future__ import annotations

import pytest

from benchflow.analysis.compare import Comparison, Need
from benchflow.analysis.estimate import Estimate
from benchflow.report.comparison_sentence import sentence
from benchflow.study.summary import Pair


def pair(low: float, high: float, p: float, corrected: float) -> Pair:
    estimate = Estimate((low + high) / 2, low, high, level=0.95, n_tasks=6, n_trials=18,
                        n_errors=0, method="paired t")  # fmt: skip
    return Pair("a", "b", Comparison(estimate, p, p, corrected, 0.39), Need(3, 3))


def test_what_only_the_correction_leaves_open_is_not_a_matter_of_more_data() -> None:
    said = sentence(pair(0.1, 0.7, 0.02, 0.12))
    assert "a difference by itself, but not after the correction" in said and "p = 0.12" in said
    assert "would tell them apart" not in said


def test_what_the_data_leave_open_needs_so_many_tasks_in_all() -> None:
    said = sentence(pair(-0.1, 0.7, 0.12, 0.2))
    assert "differences from 39 points on; about 3 tasks in all would tell them apart" in said


@pytest.mark.parametrize(
    ("low", "high", "better"), [(0.1, 0.7, "a beats b"), (-0.7, -0.1, "b beats a")]
)
def test_a_difference_that_holds_says_who_is_better(low: float, high: float, better: str) -> None:
    assert sentence(pair(low, high, 0.001, 0.01)).startswith(f"{better} by 40.0 points")

"""Over-claiming: plain counts, and silence where nobody claimed anything."""

from __future__ import annotations

import pytest

from benchflow.analysis.claims import claims
from benchflow.analysis.estimate import NotEnoughData


def test_they_are_the_plain_counts() -> None:
    said = [True, True, True, False, False, True]
    won = [True, False, False, False, True, True]
    found = claims(said, won, list("xxyyzz"), errors=2)
    assert found.wrong
    assert found.silent
    assert found.said_done.value == 4 / 6
    assert found.wrong.value == 2 / 4
    assert found.silent.value == 2 / 3
    assert (found.wrong.n_trials, found.wrong.n_tasks, found.wrong.n_errors) == (4, 3, 2)
    assert 0 < found.wrong.low < found.wrong.value < found.wrong.high < 1


def test_no_claim_is_no_over_claim_and_no_figure() -> None:
    found = claims([False] * 4, [False, True, False, True], list("xxyy"))
    assert found.said_done.value == 0
    assert found.said_done.high > 0
    assert found.wrong is None


def test_too_little_or_torn_data_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        claims([True, False], [True, False], ["x", "x"])
    with pytest.raises(ValueError, match="differ in length"):
        claims([True], [True, False], ["x", "y"])

"""Numbers as people read them: parts of a whole add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.base.numbers import percents


@given(
    st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=40).filter(
        lambda shares: sum(shares) > 1e-3
    ),
    st.integers(0, 1),
)
def test_parts_add_up_to_a_hundred_and_none_is_off_by_one(shares: list[float], digits: int) -> None:
    shown = [float(one.removesuffix(" %")) for one in percents(shares, digits)]
    assert sum(shown) == pytest.approx(100, abs=1e-6)
    unit = 10**-digits
    for share, value in zip(shares, shown, strict=True):
        assert abs(100 * share / sum(shares) - value) < unit + 1e-6


@pytest.mark.parametrize(
    ("shares", "shown"),
    [
        ([1, 1, 1], ("34 %", "33 %", "33 %")),
        ([0.5, 0.25, 0.25], ("50 %", "25 %", "25 %")),
        ([1, 2, 2, 1], ("17 %", "33 %", "33 %", "17 %")),
        ([0, 0], ("0 %", "0 %")),
        ([], ()),
    ],
)
def test_what_is_left_over_goes_to_those_that_lost_most(
    shares: list[float], shown: tuple[str, ...]
) -> None:
    assert percents(shares) == shown

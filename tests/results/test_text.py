"""Text that a hostile guest wrote is harmless after `printable`."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from benchflow.base.text import one_line, printable

HOSTILE = st.text(
    st.sampled_from([*"ab \n\t\x1b\x9b[]0;?mH\x07\\\x9d\x9c\x90P\x7f\x00\u202e\u2066"])
)


@given(HOSTILE)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    for character in printable(text, 10_000):
        assert character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf"}


@given(st.text(), st.integers(1, 50))
def test_the_limit_holds(text: str, limit: int) -> None:
    assert len(printable(text, limit)) <= limit
    assert "\n" not in one_line(text, limit)


def test_plain_text_stays_as_it_is() -> None:
    text = "Kernel panic — not syncing: VFS\n\tünïcode ✓ 日本"
    assert printable(text) == text


def test_a_title_that_sets_the_window_title_is_gone() -> None:
    assert printable("a\x1b]0;owned\x07b\x1b[31mc\x1b[0m\x9b2Jd") == "abcd"

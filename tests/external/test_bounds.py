"""Much output: its beginning and its end, and no character in two."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from benchflow.agents.external.bounds import bounded

_CUT = re.compile(rb"\n\[benchflow: (\d+) bytes are left out here\]\n")


@given(st.binary(max_size=400), st.integers(0, 300))
def test_what_is_missing_is_counted(data: bytes, most: int) -> None:
    shown, missing = bounded(data, most)
    if len(data) <= most:
        assert (shown, missing) == (data, 0)
        return
    head, tail = next(
        (shown[: cut.start()], shown[cut.end() :])
        for cut in _CUT.finditer(shown)
        if int(cut[1]) == missing
    )
    assert data.startswith(head) and data.endswith(tail)
    assert len(head) + len(tail) + missing == len(data)
    assert len(head) + len(tail) <= most


@given(st.text(min_size=1, max_size=200), st.integers(0, 100))
def test_text_stays_text(text: str, most: int) -> None:
    shown, _ = bounded(text.encode(), most)
    assert "�" not in shown.decode("utf-8").replace("�", "" if "�" in text else "�")


def test_what_was_not_kept_counts_too() -> None:
    shown, missing = bounded(b"ab", 10, total=100)
    assert missing == 98 and b"98 bytes are left out" in shown

"""A console is plain text of bounded size, whatever bytes arrive and however they are cut."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.boot.machine.console import HEAD, TAIL, Console
from benchflow.boot.machine.console_text import HELD_MAX, Stripper

PIECES = [
    b"login: ", b"\x1b[31m", b"\x1b[2J\x1b[1;1H", b"\x1b]0;title\x07", b"\x1bPq#0\x1b\\", b"\x1b(B",
    b"\r\n", b"\r", b"\x00", b"\xff\xfe", "é→".encode(), b"\x1b", b"\x9b31m", b"\x1b[?2004h", b"x",
]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;a title\x07after", "after"),
        (b"\x1b]0;a title\x1b\\after", "after"),
        (b"\x1bPsixel\x1b\\after", "after"),
        (b"\xc2\x9b31mC1", "C1"),
        (b"\x1b(Bcharset", "charset"),
        (b"\x1b[3;1Hone\x1b[4;1Htwo", "\none\ntwo"),
        (b"a\r\r\nb\rc\n", "a\nb\nc\n"),
        (b"nul\x00nul\x07bell", "nulnulbell"),
        (b"\xff\xfebad utf-8", "\ufffd\ufffdbad utf-8"),
        (b"\x1b[?2004h# ", "# "),
        ("naïve →".encode(), "naïve →"),
    ],
)
def test_escapes_and_controls_vanish(raw: bytes, text: str) -> None:
    assert Stripper().feed(raw + b"\n") == text + "\n"


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.integers(1, 9)))
def test_the_text_does_not_depend_on_how_the_bytes_were_cut(
    pieces: list[bytes], cuts: list[int]
) -> None:
    raw = b"".join(pieces) + b"\x1b[0m|\n"
    whole = Stripper().feed(raw)
    cutter, parts, at = Stripper(), [], 0
    for cut in [*cuts, len(raw)]:
        parts.append(cutter.feed(raw[at : at + cut]))
        at += cut
    assert "".join(parts) == whole


@given(st.binary())
def test_no_control_character_survives(raw: bytes) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", Stripper().feed(raw))


def test_an_escape_without_end_hides_nothing() -> None:
    stripper = Stripper()
    text = stripper.feed(b"\x1b]0;") + "".join(
        stripper.feed(b"y" * 1000) for _ in range(2 * HELD_MAX // 1000)
    )
    assert text.count("y") > HELD_MAX


def test_a_flood_is_kept_at_both_ends_and_counted() -> None:
    console = Console()
    console.feed(b"first line\n")
    block = b"z" * 65536
    for _ in range((HEAD + TAIL) // len(block) + 40):
        console.feed(block)
    console.feed(b"last line\n")
    text = console.text
    assert text.startswith("first line\n")
    assert text.endswith("last line\n")
    assert console.dropped > 30 * len(block)
    assert f"{console.dropped} characters dropped" in text
    assert len(text) < HEAD + TAIL + 2 * len(block)


def test_a_match_may_arrive_in_pieces() -> None:
    console = Console()
    scanned = 0
    pattern = re.compile("Linux version 6")
    for byte in b"xxLinux version 6":
        assert console.search(pattern, 0, scanned) is None
        scanned = console.end
        console.feed(bytes([byte]))
    found = console.search(pattern, 0, scanned)
    assert found is not None
    assert (found.start, found.end) == (2, console.end)


def test_a_long_line_without_newline_does_not_slow_the_console() -> None:
    console = Console()
    for _ in range(400):
        console.feed(b"a" * 65536)
    assert console.end == 400 * 65536


def test_listeners_get_the_raw_bytes_with_their_time() -> None:
    console = Console()
    heard: list[tuple[float, bytes]] = []
    console.subscribe(lambda t, data: heard.append((t, data)))
    console.feed(b"\x1b[1mbold")
    console.feed(b"\xff")
    assert [data for _, data in heard] == [b"\x1b[1mbold", b"\xff"]
    assert 0 <= heard[0][0] <= heard[1][0]


def test_beginnings_of_strings_without_end_do_not_slow_the_console() -> None:
    stripper = Stripper()
    start = time.process_time()
    assert stripper.feed(b"\xc2\x9d" * (32 << 10)) == ""
    assert stripper.feed(b"title\x07after\n") == "after\n"
    assert time.process_time() - start < 2

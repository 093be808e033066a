"""A console's recording on its way to a page."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchflow.results import recording


def _cast(folder: Path, *events: object, header: object = None) -> Path:
    path = folder / "main.console.cast"
    top = header or {"version": 2, "width": 80, "height": 24}
    path.write_text("\n".join(json.dumps(event) for event in (top, *events)) + "\n")
    return path


def test_lines_stand_at_the_second_at_which_they_began(tmp_path: Path) -> None:
    path = _cast(
        tmp_path,
        [1.0, "o", "Linux vers"],
        [2.0, "o", "ion 6.1\r\nlogin: "],
        [2.5, "m", "milestone kernel: passed"],
        [3.0, "o", "root\r\n"],
    )
    found = recording.read(path)
    assert found is not None
    assert found.lines == ((1.0, "Linux version 6.1"), (2.0, "login: root"))
    assert found.markers == ((2.5, "milestone kernel: passed"),)
    assert found.seconds == 3.0 and not found.truncated
    assert recording.plain(found) == "    1.000  Linux version 6.1\n    2.000  login: root\n"


def test_a_line_that_was_written_over_shows_what_stood_at_the_end(tmp_path: Path) -> None:
    path = _cast(tmp_path, [0.1, "o", " 10 %\r 50 %\r\x1b[1m100 %\x1b[0m\r\n"])
    found = recording.read(path)
    assert found is not None and found.lines == ((0.1, "100 %"),)


def test_time_never_goes_back_and_foreign_events_are_left_out(tmp_path: Path) -> None:
    path = _cast(
        tmp_path,
        [5.0, "o", "a\n"],
        [1.0, "o", "b\n"],
        [6.0, "i", "typed"],
        [True, "o", "c"],
        [1e308, "o", "d"],
        "text",
        header={"version": 2, "width": 10**9, "height": "many"},
    )
    found = recording.read(path)
    assert found is not None
    assert found.lines == ((5.0, "a"), (5.0, "b")) and (found.cols, found.rows) == (240, 24)
    events = [json.loads(line) for line in found.cast.splitlines()[1:]]
    assert events == [[5.0, "o", "a\n"], [5.0, "o", "b\n"]]


def test_what_is_no_recording_is_none(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "v1").write_text('{"version": 1}')
    for name in ("link", "v1", "absent", "."):
        assert recording.read(tmp_path / name) is None


@given(st.lists(st.tuples(st.floats(), st.sampled_from("omx"), st.text())))
def test_any_events_give_printable_lines(events: list[tuple[float, str, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = recording.read(_cast(Path(folder), *events))
    assert found is not None
    assert all("\x1b" not in text and "\n" not in text for _, text in found.lines)
    assert [at for at, _ in found.lines] == sorted(at for at, _ in found.lines)
    json.loads(recording.script("x", found).partition(", ")[2].removesuffix(");\n"))

"""What a run leaves behind: formats others read, and nothing in them that harms who looks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifier_runs import run, write_task, zipapp

from benchflow.boot.runner.cast import Cast
from benchflow.boot.runner.evidence import Evidence, safe_name, write_json
from benchflow.boot.sanitize import StreamFilter, clean, first_line

CHECKS = """
from benchflow.boot import check, milestone
@milestone("a", weight=2, proves=["R1", "R2"], title="The first")
def test_a(metric): metric("boot_seconds", 1.5)
@milestone("b", requires=["a"], proves=["R3"])
def test_b(): assert False, "why not"
@milestone("c", requires=["b"])
def test_c(): pass
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("evidence")
    tests = write_task(folder / "tests", CHECKS)
    return run(zipapp(folder), tests, folder / "logs")


def test_milestones_json_is_as_documented(done) -> None:
    found = done.json("milestones.json")
    assert found["schema"] == 1
    assert found["task"] == {"name": "tests/task", "version": "1", "digest": "d"}
    assert set(found["host"]) == {"speed", "accelerator", "qemu"}
    assert found["metrics"] == {"boot_seconds": 1.5}
    assert (found["reward"], found["resolved"]) == (0.5, False)
    first = found["milestones"][0]
    assert {k: first[k] for k in ("id", "title", "weight", "requires", "status")} == {
        "id": "a", "title": "The first", "weight": 2, "requires": [], "status": "passed",
    }  # fmt: skip
    assert set(first["checks"][0]) == {"name", "proves", "status", "seconds", "message"}
    assert first["checks"][0]["proves"] == ["R1", "R2"]


def test_reward_json_is_flat_numbers(done) -> None:
    assert done.reward == {
        "reward": 0.5, "resolved": 0, "milestone.a": 1, "milestone.b": 0, "milestone.c": 0,
        "metric.boot_seconds": 1.5,
    }  # fmt: skip


def test_ctrf_json_follows_the_schema(done) -> None:
    report = done.json("ctrf.json")
    assert report["reportFormat"] == "CTRF"
    results = report["results"]
    assert results["tool"]["name"] == "pytest"
    summary = results["summary"]
    counted = {"tests": 3, "passed": 1, "failed": 1, "skipped": 1, "pending": 0, "other": 0}
    assert counted.items() <= summary.items()
    assert isinstance(summary["start"], int) and summary["start"] <= summary["stop"]
    # The schema allows no key beyond these (additionalProperties is false).
    allowed = {
        "name", "status", "duration", "start", "stop", "suite", "message", "line", "rawStatus",
        "tags", "filePath",
    }  # fmt: skip
    for test in results["tests"]:
        assert {"name", "status", "duration"} <= set(test) <= allowed
        assert isinstance(test["duration"], int)
    assert results["tests"][1]["message"].startswith("why not")


def test_progress_tells_the_run_as_it_happens(done) -> None:
    told = [
        (e["event"], e.get("name") or e.get("id"), e.get("status")) for e in done.progress
    ]  # fmt: skip
    assert told == [
        ("check", "test_a", "running"),
        ("check", "test_a", "passed"),
        ("milestone", "a", "passed"),
        ("check", "test_b", "running"),
        ("check", "test_b", "failed"),
        ("milestone", "b", "failed"),
        ("milestone", "c", "not reached"),
        ("done", None, None),
    ]
    times = [e["t"] for e in done.progress]
    assert times == sorted(times)


def test_a_json_file_is_never_half_written(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"old": 1})
    with pytest.raises(TypeError):
        write_json(path, {"new": "x" * 100_000, "bad": object()})
    assert json.loads(path.read_text()) == {"old": 1}


def events(path: Path) -> list[list]:
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(header)["version"] == 2
    return [json.loads(row) for row in rows]


def test_the_console_is_recorded_with_markers(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    evidence.boot("main", 1)
    evidence.output("main", b"Linux version 6.1\r\n")
    evidence.note("main", "power cut")
    evidence.milestone_ended("kernel", "passed")
    evidence.output("main", "caf\u00e9".encode()[:-1])
    evidence.output("main", "caf\u00e9".encode()[-1:])
    evidence.finish(reward=1.0)
    evidence.output("main", b"too late")
    rows = events(tmp_path / "main.console.cast")
    assert [row[1:] for row in rows if row[1] == "m"] == [
        ["m", "boot 1"], ["m", "power cut"], ["m", "milestone kernel: passed"],
    ]  # fmt: skip
    assert "".join(row[2] for row in rows if row[1] == "o") == "Linux version 6.1\r\ncaf\u00e9"
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_a_console_that_prints_forever_fills_no_disk(tmp_path: Path) -> None:
    cast = Cast(tmp_path / "x.cast", limit=100_000)
    for _ in range(1000):
        cast.output(b"\x01\x02y" * 1000)
    cast.marker("milestone a: failed")
    cast.close()
    assert (tmp_path / "x.cast").stat().st_size < 120_000
    assert [row[2] for row in events(tmp_path / "x.cast") if row[1] == "m"] == [
        "recording stopped: the console printed too much", "milestone a: failed",
    ]  # fmt: skip


def test_every_boot_is_kept_with_its_command(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    for n in range(300):
        evidence.qemu("../a b", ["qemu", str(n)], {"qemu": "7.2"})
    evidence.finish()
    found = json.loads((tmp_path / "a-b.qemu.json").read_text())
    assert found["machine"] == "../a b"
    assert found["boots"][1] == {"command": ["qemu", "1"], "versions": {"qemu": "7.2"}}
    assert len(found["boots"]) == 200


@given(st.text(max_size=100))
def test_a_name_never_leaves_the_folder(name: str) -> None:
    safe = safe_name(name)
    assert safe and "/" not in safe and not safe.startswith(".")


HOSTILE = {
    "title": b"\x1b]0;owned\x07",
    "clipboard": b"\x1b]52;c;cm0gLXJmIC8=\x1b\\",
    "device control": b'\x1bP$q"p\x1b\\',
    "answerback": b"\x05",
    "device attributes": b"\x1b[c\x1b[>c\x1b[5n\x1b[6n",
    "window report": b"\x1b[21t",
    "privacy message": b"\x1b^x\x1b\\\x1b_y\x1b\\",
    "8-bit string": "\x9d0;owned\x9c".encode(),
    "reset": b"\x1bc",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_recording_holds_nothing_that_acts_on_the_viewer(name: str) -> None:
    shown = StreamFilter().feed(b"before" + HOSTILE[name] + b"after")
    assert "\x1b" not in shown and "\x9d" not in shown and "\x05" not in shown
    assert shown.startswith("before") and shown.endswith("after")
    assert name == "8-bit string" or shown == "beforeafter"
    cleaned = clean("before" + HOSTILE[name].decode() + "after")
    assert cleaned == shown if name == "8-bit string" else cleaned == "beforeafter"


def test_colours_and_cursor_moves_survive_in_a_recording() -> None:
    screen = b"\x1b[2J\x1b[1;1H\x1b[1;31mred\x1b[0m\x1b[K\r\n\t\x08"
    assert StreamFilter().feed(screen) == screen.decode()


ALPHABET = st.sampled_from([b"\x1b", b"[", b"]", b"P", b"\\", b"\x07", b"0;", b"m", b"x", b"\xc3"])


@given(st.lists(ALPHABET, max_size=30).map(b"".join), st.data())
def test_it_makes_no_difference_how_the_bytes_arrive(data: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=5)))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    split = StreamFilter()
    assert "".join(split.feed(piece) for piece in pieces) == StreamFilter().feed(data)


@given(st.text(max_size=3000))
def test_cleaned_text_is_short_and_plain(text: str) -> None:
    cleaned = clean(text, 200)
    assert len(cleaned) <= 220
    assert not any(ord(c) < 32 and c not in "\n\t" for c in cleaned)
    assert "\u202e" not in cleaned
    assert "\n" not in first_line(text) and len(first_line(text)) <= 200
    cleaned.encode()


def test_an_unfinished_sequence_of_any_length_is_cheap() -> None:
    filtered = StreamFilter()
    for _ in range(2000):
        assert len(filtered.feed(b"\x1b[" + b"1;" * 500)) <= 1100
    assert clean("\x1b]" + "x" * 10_000_000, 100).strip() == "… cut …"

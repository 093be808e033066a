"""A verifier's progress is followed, whatever somebody writes into it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from benchflow.results.jobs.tail import Tail
from benchflow.run.live.follow import apply_progress
from benchflow.run.live.progress import Board, Silence, TrialState


def test_lines_are_read_once_and_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    tail = Tail(path)
    assert list(tail.events()) == []
    with path.open("w") as file:
        file.write('{"a": 1}\n{"b"')
        file.flush()
        assert list(tail.events()) == [{"a": 1}]
        assert list(tail.events()) == []
        file.write(": 2}\n")
        file.flush()
        assert list(tail.events()) == [{"b": 2}]


def test_rubbish_links_pipes_and_endless_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    path.write_bytes(
        b"\xff\n[1]\nnull\n" + b"[" * 60_000 + b"\n" + b"x" * 200_000 + b'\n{"a": 1}\n'
    )
    assert list(Tail(path).events()) == [{"a": 1}]
    link = tmp_path / "link"
    link.symlink_to(path)
    assert list(Tail(link).events()) == []
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert list(Tail(fifo).events()) == []
    assert list(Tail(tmp_path).events()) == []


def test_the_ladder_fills_up_and_nothing_else_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    state = TrialState("t", "task", "agent", ladder={"kernel": "", "one/login": ""})
    lines = [
        {"event": "milestone", "id": "kernel", "status": "passed"},
        {"event": "milestone", "id": "kernel", "status": "failed"},
        {"event": "milestone", "id": "unknown", "status": "passed"},
        {"event": "milestone", "id": "login", "status": "exploded"},
        {"event": "milestone", "id": "login", "status": "failed"},
        {"event": "boot", "machine": "main\x1b[2J", "n": 2},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    apply_progress(Tail(path), Board(1), state, Silence())
    assert state.ladder == {"kernel": "passed", "one/login": "failed"}
    assert state.note == "boot 2 of main"

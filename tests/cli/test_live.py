"""What is shown while a job runs: a clock, a limit and a ladder; never a wall of log."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from benchflow.base.numbers import duration
from benchflow.base.text import printable
from benchflow.cli.gate_progress import GateLine
from benchflow.cli.live import Plain, panel
from benchflow.cli.table import table
from benchflow.results.jobs.progress_events import Phase
from benchflow.results.model import Check, Milestone, Trial, Verdict
from benchflow.run.live.progress import Board, TrialState

ROOT = Path(__file__).parents[2]


def board(count: int, ladder: int = 3) -> Board:
    made = Board(planned=count)
    for n in range(count):
        state = TrialState(
            f"t{n}", "task", f"agent{n}", ladder={f"m{i}": "" for i in range(ladder)}
        )
        state.enter(Phase.BOOT, 600)
        made.trials[state.name] = state
    return made


def shown(text: object) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    console.print(text)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_one_trial_alone_has_its_whole_ladder() -> None:
    one = board(1)
    one.trials["t0"].ladder.update(m0="passed", m1="failed")
    lines = shown(panel(one, 30))
    assert "boot" in lines[0]
    assert "of 10 min 00 s" in lines[0]
    assert [line.strip() for line in lines[1:]] == ["✓ m0", "✗ m1", "· m2"]


def test_many_trials_fit_the_screen_and_say_how_many_are_hidden() -> None:
    lines = shown(panel(board(50), 20))
    assert len(lines) <= 20
    assert "… and 32 more" in lines
    assert lines[-1] == "0 of 50 trials finished"


def test_plain_output_of_many_trials_has_one_line_a_trial() -> None:
    stream = io.StringIO()
    plain, many = Plain(stream), board(50)
    for trial in many.trials.values():
        plain.phase(many, trial)
        plain.milestone(many, trial, "m0")
    assert stream.getvalue() == ""
    few = board(2)
    plain.phase(few, few.trials["t0"])
    assert stream.getvalue().rstrip().endswith("task  agent0  boot (limit 10 min 00 s)")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_gate_tells_its_beginning_and_each_trials_end() -> None:
    stream, two = io.StringIO(), board(2)
    line = GateLine(stream)
    line.begin("ladder")
    for trial in two.trials.values():
        line.phase(two, trial)
        line.milestone(two, trial, "m0")
        line.tick(two)
    first = two.trials["t0"]
    first.note = "result.json cannot be read"
    first.enter(Phase.DONE)
    line.phase(two, first)
    second = two.trials["t1"]
    check = Check("test_it_is_warm", "failed", ("R2",))
    milestones = (Milestone("lit", "passed"), Milestone("warm", "failed", checks=(check,)))
    second.result = Trial(
        "t1", Path(), "task", "agent1", "", Verdict.FAILED, 0.5, milestones=milestones
    )
    second.enter(Phase.DONE)
    line.phase(two, second)
    second.result = Trial(
        "t1", Path(), "task", "agent1", "", Verdict.ERROR, None, exception="CancelledError"
    )
    line.phase(two, second)
    line.clear()
    begins, ends, stops, ctrl_c = stream.getvalue().splitlines()
    assert stops.endswith("1/2 milestones, reward 0.50, in —, stopped at warm by test_it_is_warm")
    assert ctrl_c.endswith("agent1  stopped; it is run again")
    assert begins == "  running        ladder"
    assert re.fullmatch(r" +0\.\d s  task  agent0  done, but result\.json cannot be read", ends)


def test_on_a_terminal_a_gate_is_one_line_that_fits_and_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream, many = Terminal(), board(50)
    many.trials["t0"].agent = "/kept/\x1b[31mrungs/" + "deep/" * 90 + "boots/app/out/disk.img"
    line = GateLine(stream)
    line.begin("ladder")
    for trial in many.trials.values():
        line.phase(many, trial)
    time.sleep(0.6)
    line.tick(many)
    line.tick(many)
    line.clear()
    line.begin("exploits")
    text = stream.getvalue()
    assert "\n" not in text
    drawn = text.split("\r\x1b[2K")
    assert all(len(each) < 100 for each in drawn)
    assert "\x1b" not in "".join(drawn)
    assert drawn[-1].rstrip().startswith("  running        exploits")
    assert drawn[-2] == "", "room was made for a line on stdout"
    assert "deep/boots/app/out/disk.img boot" in drawn[-3]
    assert len(drawn) == 5, "not at every tick"


def test_every_duration_has_a_unit() -> None:
    given = [None, 0.034, 14.66, 60, 3599.6, 7800]
    wanted = ["—", "0.03 s", "14.7 s", "1 min 00 s", "1 h 00 min", "2 h 10 min"]
    assert [duration(seconds) for seconds in given] == wanted


def test_columns_are_aligned_for_wide_characters_and_empty_ones_are_left_out() -> None:
    text = table(["a", "empty", "b"], [["日本", "", "x"], ["c", "", "y"]])
    assert text.splitlines() == ["a     b", "日本  x", "c     y"]


@pytest.mark.needs("sandbox")
def test_on_a_terminal_the_display_is_redrawn_and_then_gone(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "run"))
    import plain

    plain.shared(tmp_path / "task", solve="#!/bin/bash\nsleep 4; echo done > /app/out.txt\n")
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [plain.BENCHFLOW, "run", "task"],
        cwd=tmp_path,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    assert process.wait() == 0
    assert b"\x1b[" in output
    text = printable(output.decode(), 1_000_000)
    assert re.search(r"agent {6}[0-3]\.", text.replace("\n", ""))
    assert "1 trial: 1 resolved" in text

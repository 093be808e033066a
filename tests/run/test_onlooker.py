"""How far a job is, read from its files alone while it runs, after it was killed, and hostile."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.results.jobfolders import trial
from tests.run.ours import words
from tests.run.plain import BENCHFLOW, benchflow, kill_all

from benchflow.base.text import printable
from benchflow.cli.job_screen import headline, screen
from benchflow.cli.live import display
from benchflow.results.jobs import lock
from benchflow.run.live.job_status import Onlooker, of_job
from benchflow.run.live.progress import Board
from benchflow.run.live.sweep_status import Cell, Overview

HERE = Path(__file__).parent
AGENTS = [
    {
        "import_path": "benchflow.run.models.gateway_agent:asking:Asking",
        "model_name": "scripted/p.toml",
    },
    {"name": "nop", "kwargs": {}},
    {"kwargs": {"layer": "codex/1.0-abc"}, "import_path": "x:LayeredCodex", "model_name": "o/m"},
]
WHO = ["Asking scripted/p.toml", "nop", "codex o/m"]


def job_of(root: Path, name: str = "job", **more: Any) -> Path:
    """A job of one task, three agents and two attempts, in which nothing has begun."""
    job = root / name
    job.mkdir(parents=True)
    saved = {
        "schema": 1,
        "created": "2026-01-01T10:00:00+00:00",
        "attempts": 2,
        "n_trials": 6,
        "tasks": [{"name": "benchflow/task", "staged": "/staged/task", "hint": 0}],
        "harbor": {"agents": AGENTS},
        **more,
    }
    (job / "benchflow.json").write_text(json.dumps(saved))
    return job


def begin(job: Path, name: str, agent: int, phase: str, task: str = "/staged/task") -> None:
    (job / name).mkdir(exist_ok=True)
    config = {"task": {"path": task}, "agent": AGENTS[agent]}
    (job / name / "config.json").write_text(json.dumps(config))
    event = {"schema": 1, "t": "2026-01-01T10:00:00Z", "trial": name, "phase": phase, "limit": 60}
    append(job / "phases.jsonl", event)


def append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def spend(job: Path, name: str, n: int) -> None:
    fields = {"schema": 1, "t": "2026-01-01T10:00:00.000+00:00", "trial": name}
    opened = {"event": "trial", "model": "scripted/p.toml", "budget": {}}
    append(job / "calls.jsonl", {**fields, **opened})
    append(job / "calls.jsonl", {**fields, "event": "begin", "n": n})
    usage = {"usage": {"input": 1000, "output": 50}, "usd": 0.0015, "outcome": "answered"}
    append(job / "calls.jsonl", {**fields, "event": "call", "n": n, **usage})


def test_the_matrix_fills_up(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    onlooker = Onlooker(lambda: [job])
    with lock.hold(job):
        first = onlooker.look()
        assert (first.planned, first.is_running, first.finished) == (6, True, ())
        assert [(c.task, c.who, c.planned) for c in first.cells] == [
            ("benchflow/task", who, 2) for who in WHO
        ]
        begin(job, "a", 0, "agent")
        begin(job, "b", 1, "boot")
        spend(job, "a", 1)
        (job / "b" / "verifier").mkdir()
        progress = job / "b" / "verifier" / "progress.jsonl"
        append(progress, {"event": "milestone", "id": "kernel", "status": "passed"})
        append(progress, {"event": "check", "name": "test_login\x1b[2J"})
        second = onlooker.look()
        assert [cell.running for cell in second.cells] == [1, 1, 0]
        a, b = second.running
        assert (a.phase, a.limit, a.tokens, a.usd) == ("agent", 60.0, 1050, 0.0015)
        assert a.seconds is not None and a.seconds > 0
        assert (b.ladder, b.note, b.tokens) == (("passed",), "check test_login", 0)
        spend(job, "a", 2)
        (job / "a" / "config.json").rename(tmp_path / "config.json")
        (job / "a").rmdir()
        trial(job, "a", rewards={"reward": 1.0})
        (tmp_path / "config.json").rename(job / "a" / "config.json")
        begin(job, "c", 2, "agent")
        (job / "c").rename(tmp_path / "c")
        trial(job, "c", exception="InfrastructureError")
        (tmp_path / "c" / "config.json").rename(job / "c" / "config.json")
        third = onlooker.look()
    assert (third.tokens, third.usd) == (2100, pytest.approx(0.003))
    assert [(c.resolved, c.error, c.running) for c in third.cells] == [
        (1, 0, 0), (0, 0, 1), (0, 1, 0),
    ]  # fmt: skip
    assert third.errors == {"InfrastructureError": (1, "InfrastructureError happened")}
    assert [(t.name, t.seconds) for t in third.slowest] == [("a", 90.0), ("c", 90.0)]
    # Whoever held the job is gone: what it had begun is cut off.
    fourth = onlooker.look()
    assert (fourth.is_running, fourth.running, fourth.cut_off) == (False, (), 1)
    assert headline(fourth).startswith("2 of 6 trials finished, 1 cut off; 2,100 tokens, $0.003")


def test_a_trial_that_is_run_again_is_no_longer_finished(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    trial(job, "a", exception="InfrastructureError")
    begin(job, "a", 0, "done")
    onlooker = Onlooker(lambda: [job])
    assert len(onlooker.look().finished) == 1
    (job / "a" / "result.json").unlink()
    with lock.hold(job):
        begin(job, "a", 0, "agent")
        seen = onlooker.look()
    assert (len(seen.finished), [t.phase for t in seen.running]) == (0, ["agent"])


def test_a_sweep_is_all_its_jobs(tmp_path: Path) -> None:
    one = job_of(tmp_path, "first-1", sweep="first")
    two = job_of(tmp_path, "first-2", sweep="first", created="2026-01-02T10:00:00+00:00")
    job_of(tmp_path, "first-look-1", sweep="first-look")
    seen = of_job(two).look()
    assert (seen.jobs, seen.planned, seen.is_running) == ((one, two), 12, False)
    assert [cell.planned for cell in seen.cells] == [4, 4, 4]
    held = tmp_path / ".first.sweep"
    held.mkdir()
    with lock.hold(held):  # between two jobs
        assert of_job(one).look().is_running


def test_rubbish_in_a_job_is_passed_over(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    (job / "phases.jsonl").write_bytes(b'\xff\n[]\n{"schema": 1, "trial": 3}\n{"trial": "a"}\n')
    (job / "calls.jsonl").write_bytes(b'{"schema": 1, "event": "call", "tri')
    begin(job, "a", 0, "\x1b[31m" + "x" * 100, task="/hostile\x1b[2J\n")
    (job / "b").mkdir()
    (job / "b" / "config.json").write_text("{")
    (job / "b" / "result.json").write_text("{")
    with lock.hold(job):
        seen = Onlooker(lambda: [job]).look()
    text = screen(seen)
    assert text == printable(text, 100_000)
    assert "/hostile" in text
    assert Onlooker(lambda: [job_of(tmp_path, "empty", harbor=None, tasks=4)]).look().planned == 6


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_run_of_several_trials_shows_the_same_screen(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    begin(job, "a", 0, "agent")
    spend(job, "a", 1)
    terminal = Terminal()
    with lock.hold(job), display(quiet=False, stream=terminal) as listener:
        listener.tick(Board(planned=6, job=job))
    shown = printable(terminal.getvalue(), 100_000)
    assert "0 of 6 trials finished, 1 under way; 1,050 tokens, $0.0015" in shown
    assert "— (1 running, 1 to do)" in shown


def test_a_job_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    onlooker = Onlooker(lambda: [job])
    onlooker.look()
    shutil.rmtree(job)
    assert onlooker.look().finished == ()


def overview(cells: int) -> Overview:
    return Overview(
        jobs=(), is_running=True, running=(), finished=(), errors={"Cause": (2, "why")},
        cells=tuple(Cell(f"task{n}", "agent", planned=1) for n in range(cells)),
        planned=cells, cut_off=0, tokens=0, usd=0, unknown=3,
    )  # fmt: skip


def test_a_screen_fits_the_terminal_and_says_what_it_hides() -> None:
    lines = screen(overview(50), 20).splitlines()
    assert (len(lines), lines[-1]) == (20, "… 36 more lines")
    whole = screen(overview(3)).splitlines()
    assert whole[0] == "0 of 3 trials finished (and 3 answers without a price or a count)"
    assert whole[-1] == "error, 2×: Cause: why"


def test_many_agents_stand_below_each_other() -> None:
    many = replace(overview(0), cells=tuple(Cell("task", f"a{n}", 2, 1) for n in range(20)))
    lines = screen(many).splitlines()
    assert lines[2].split() == ["resolved", "of", "tried", "task"]
    assert lines[3] == "a0                 1/1 (1 to do)"


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_a_running_job_is_watched_from_elsewhere(tmp_path: Path) -> None:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text('schema = 1\n[[turns]]\nsay = "Done."\n')
    process = subprocess.Popen(
        [
            BENCHFLOW, "run", "test/words", "-a", "asking:Hanging", "-m", "scripted/policy.toml",
            "--stall-minutes", "0", "--job-name", "job", "-k", "2", "-n", "1",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    job = tmp_path / "jobs" / "job"
    try:
        onlooker = Onlooker(lambda: [job] if job.is_dir() else [])
        deadline = time.monotonic() + 120
        while [t.phase for t in onlooker.look().running] != ["agent"]:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        done = benchflow("watch", "--json", cwd=tmp_path)
        (running,) = json.loads(done.stdout)["running"]
        assert (running["who"], running["limit"]) == ("Hanging scripted/policy.toml", 60)
        lines = subprocess.Popen(
            [BENCHFLOW, "watch", "job"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        assert lines.stdout is not None
        assert lines.stdout.readline() == "0 of 2 trials finished, 1 under way\n"
    finally:
        kill_all(process, job)
    told, _ = lines.communicate(timeout=120)
    assert lines.returncode == 0
    assert "0 of 2 trials finished, 1 cut off" in told
    assert "benchflow resume" in told
    assert "no job in" in benchflow("watch", cwd=tmp_path, status=2).stderr
    assert "no job and no sweep 'nonsuch'" in benchflow(
        "watch", "nonsuch", cwd=tmp_path, status=2
    ).stderr  # fmt: skip

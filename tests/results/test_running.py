"""Trials without a result are seen for what their folders hold, and never taken for a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchflow.results.collect import collect
from benchflow.results.jobs import journal, task_facts
from benchflow.results.jobs.lock import hold
from benchflow.results.jobs.unfinished import Unfinished, look, state
from benchflow.results.synthetic import Design, write_job


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """A trial that has just begun, in a job with finished ones."""
    job = write_job(tmp_path / "job", Design(agents=1, tasks=2, attempts=1, steps=3))
    record = json.loads((job / "benchflow.json").read_text())
    task = record["tasks"][0]
    task["milestones"] = ["image", "kernel", "login"]
    (job / "benchflow.json").write_text(json.dumps(record))
    begun = job / "begun__1"
    for name in ("agent", "verifier", "artifacts/logs"):
        (begun / name).mkdir(parents=True)
    (begun / "trial.log").write_text("")
    agent = {"import_path": "benchflow.agents.scripts:LadderAgent", "kwargs": {"stop_after": "x"}}
    config = {"task": {"path": task["staged"]}, "agent": agent}
    (begun / "config.json").write_text(json.dumps(config))
    return begun


def _look(trial: Path, *, knows: bool = True) -> Unfinished:
    tasks = task_facts.of_job(trial.parent)[0] if knows else {}
    (seen,) = look(trial.parent, [trial], tasks)
    return seen


def _phase(trial: Path) -> str:
    return _look(trial).phase


def test_phases_and_milestones_follow_the_folder(trial: Path) -> None:
    seen = _look(trial)
    assert (seen.task, seen.who, seen.phase) == ("synthetic/task-01", "ladder:x", "image")
    assert seen.milestones == (("image", ""), ("kernel", ""), ("login", ""))
    (trial / "agent" / "script.txt").write_text("")
    assert _phase(trial) == "agent"
    (trial / "artifacts" / "app").mkdir()
    assert _phase(trial) == "hand-over"
    before = state(trial)
    progress = [
        {"event": "milestone", "id": "image", "status": "passed"},
        {"event": "check", "name": "test_kernel", "status": "running"},
    ]
    lines = [*map(json.dumps, progress), '{"event": "milestone", "id": "ker']
    (trial / "verifier" / "progress.jsonl").write_text("\n".join(lines))
    seen = _look(trial)
    assert (seen.phase, seen.note, seen.n_passed) == ("verifier", "check test_kernel", 1)
    assert seen.milestones == (("image", "passed"), ("kernel", ""), ("login", ""))
    assert state(trial) != before


def test_the_journal_of_a_job_goes_before_what_the_folder_holds(trial: Path) -> None:
    before = state(trial)
    journal.enter(trial.parent, trial.name, "agent", 60.0)
    journal.enter(trial.parent, "another", "boot", 60.0)
    assert state(trial) != before
    assert _phase(trial) == "agent"
    journal.enter(trial.parent, trial.name, "boot", 600.0)
    with (trial.parent / journal.NAME).open("a") as file:
        file.write('[1]\n{"schema": 9, "trial": "begun__1", "phase": "x"}\n{"schema": 1, "tri')
    assert _phase(trial) == "boot"


def test_it_is_in_no_figure_and_a_problem_only_where_nobody_works_on_it(trial: Path) -> None:
    with hold(trial.parent):
        found = collect([trial.parent])
    assert [one.path for one in found.unfinished] == [trial] and found.unfinished[0].running
    assert len(found.records) == 2 and found.problems == ()
    left = collect([trial.parent, trial.parent])
    assert [one.running for one in left.unfinished] == [False]
    assert str(left.problems[0]).endswith("no result.json")


def test_hostile_progress_is_passed_over(trial: Path) -> None:
    secret = trial.parent / "secret"
    secret.write_text(json.dumps({"event": "milestone", "id": "secret", "status": "passed"}))
    path = trial / "verifier" / "progress.jsonl"
    path.symlink_to(secret)
    assert _look(trial, knows=False).milestones == ()
    path.unlink()
    evil = [
        "[" * 100_000,
        json.dumps({"event": "milestone", "id": "\x1b[2Jx", "status": "passed"}),
        json.dumps({"event": "milestone", "id": "y", "status": "<b>"}),
        json.dumps({"event": "check", "name": ["a"], "status": None}),
        json.dumps([1]),
        "\xff",
    ]
    path.write_text("\n".join(evil), encoding="utf-8")
    (trial / "config.json").write_text('{"task": [], "agent": "x"}')
    seen = _look(trial, knows=False)
    assert seen.milestones == (("x", "passed"),)
    assert "\x1b" not in repr(seen)

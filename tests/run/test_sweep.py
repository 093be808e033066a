"""Sweeps: nothing runs twice, nothing is lost, and the file may grow."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from ours import words
from plain import BENCHFLOW, kill_all
from tests import warm_command

from benchflow.results.jobs import lock

FILE = """tasks = ["./test/words"]
attempts = 2
[[entry]]
agent = "nop"
[[entry]]
agent = "ladder:two"
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    words(tmp_path)
    (tmp_path / "first.toml").write_text(FILE)
    return tmp_path / "first.toml"


def call(file: Path, *options: str) -> dict[str, Any]:
    done = warm_command.run(["sweep", str(file), "--json", *options], cwd=file.parent)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def results(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("jobs/*/*/result.json")}


def test_a_plan_starts_nothing(sweep: Path) -> None:
    plan = call(sweep, "--plan")
    assert (plan["planned"], plan["finished"], plan["jobs"]) == (4, 0, [])
    assert [cell["who"] for cell in plan["cells"]] == ["nop", "ladder:two"]
    assert plan["hours_left"] == {"likely": None, "most": pytest.approx(4 * (60 + 4 * 120) / 3600)}
    assert not results(sweep.parent)
    assert plan["obstacles"] == []


METERED = """tasks = ["./test/words"]
[[entry]]
agent = "mini-swe-agent"
models = ["anthropic/claude-0"]
"""


def test_a_plan_says_what_keeps_it_from_starting(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep.write_text(METERED)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (told,) = call(sweep, "--plan")["obstacles"]
    assert told == {"message": "no key for anthropic/claude-0", "hint": "set ANTHROPIC_API_KEY"}
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-none")
    assert call(sweep, "--plan")["obstacles"] == []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = f"127.0.0.1:{taken.getsockname()[1]}"
    (told,) = call(sweep, "--plan", "--engine", "ray", "--address", closed)["obstacles"]
    assert told["message"].startswith(f"nothing listens at {closed}")
    assert not results(sweep.parent)


@pytest.mark.needs("sandbox")
def test_a_finished_trial_never_runs_again_and_the_file_may_grow(sweep: Path) -> None:
    done = call(sweep)
    assert (done["planned"], done["finished"], len(done["jobs"])) == (4, 4, 1)
    before = results(sweep.parent)
    assert len(before) == 4
    assert call(sweep)["jobs"] == done["jobs"]
    assert results(sweep.parent) == before

    grown = FILE.replace("attempts = 2", "attempts = 3\nhints = [0, 1]")
    sweep.write_text(grown.replace("[[entry]]", '[[entry]]\nagent = "oracle"\n[[entry]]', 1))
    (sweep.parent / "test" / "words" / "hints").mkdir()
    (sweep.parent / "test" / "words" / "hints" / "1.md").write_text("Count.\n")
    assert "error" not in call(sweep)
    after = results(sweep.parent)
    # The hint is a part of what the task's content is told from, so all cells are new ones.
    assert before.items() <= after.items()
    found = call(sweep, "--plan")
    assert (found["planned"], found["finished"]) == (18, 18)
    assert {(c["hint"], c["who"], c["resolved"], c["failed"]) for c in found["cells"]} == {
        (hint, who, 3 if who == "oracle" else 0, 0 if who == "oracle" else 3)
        for hint in (0, 1)
        for who in ("oracle", "nop", "ladder:two")
    }


def test_only_tasks_with_a_skill_that_is_asked_for(sweep: Path) -> None:
    sweep.write_text('skills = ["recovery"]\n' + FILE)
    assert call(sweep, "--plan")["planned"] == 4
    sweep.write_text('skills = ["networking"]\n' + FILE)
    assert "no task has a skill of networking" in call(sweep, "--plan")["error"]["message"]


def test_a_second_sweep_of_that_name_names_the_first(sweep: Path) -> None:
    held = sweep.parent / "jobs" / ".first.sweep"
    held.mkdir(parents=True)
    with lock.hold(held):
        error = call(sweep)["error"]
    assert f"process {os.getpid()}" in error["message"]
    assert "benchflow sweep" in error["hint"]
    assert not results(sweep.parent)


def test_more_attempts_are_added_to_those_that_are_there(sweep: Path) -> None:
    call(sweep)
    before = results(sweep.parent)
    sweep.write_text(FILE.replace("attempts = 2", "attempts = 3"))
    assert call(sweep)["finished"] == 6
    after = results(sweep.parent)
    assert before.items() <= after.items() and len(after) == 6


def test_errors_are_run_again_only_when_that_is_asked_for(sweep: Path) -> None:
    broken = sweep.parent / "broken"
    shutil.copytree(sweep.parent / "test", broken / "test")
    checks = broken / "test" / "words" / "tests" / "checks.py"
    flag = sweep.parent / "tried"
    checks.write_text(checks.read_text() + "\nimport no_such_module\n")
    sweep.write_text(FILE.replace("./test/words", "./broken/test/words"))
    first = call(sweep)
    assert {cell["error"] for cell in first["cells"]} == {2} and not flag.exists()
    before = results(sweep.parent)
    assert call(sweep)["finished"] == 4
    assert results(sweep.parent) == before
    assert call(sweep, "--retry", "error")["finished"] == 4
    assert len(results(sweep.parent)) == 4 and not before.items() & results(sweep.parent).items()


@pytest.mark.needs("sandbox")
def test_a_trial_that_was_stopped_is_no_result(sweep: Path) -> None:
    """Harbor writes one at Ctrl-C."""
    sweep.write_text(FILE.replace("attempts = 2", "attempts = 1"))
    call(sweep)
    (stopped, _) = sorted(results(sweep.parent))
    written = json.loads(stopped.read_text())
    now = written["finished_at"]
    raised = {"exception_type": "CancelledError", "exception_message": "", "occurred_at": now}
    written |= {"verifier_result": None, "exception_info": raised | {"exception_traceback": ""}}
    stopped.write_text(json.dumps(written))
    assert call(sweep, "--plan")["finished"] == 1
    done = call(sweep)
    assert (done["finished"], len(done["jobs"])) == (2, 1)
    assert {cell["error"] for cell in done["cells"]} == {0}


def test_a_hint_more_runs_no_exploit_again(sweep: Path) -> None:
    (sweep.parent / "test" / "words" / "hints").mkdir()
    (sweep.parent / "test" / "words" / "hints" / "1.md").write_text("Count.\n")
    file = 'tasks = ["./test/words"]\nhints = [0]\n[[entry]]\nagent = "exploit:forge"\n'
    sweep.write_text(file)
    assert call(sweep)["finished"] == 1
    sweep.write_text(file.replace("[0]", "[0, 1]"))
    plan = call(sweep, "--plan")
    assert (plan["planned"], plan["finished"]) == (2, 1)


def test_agents_are_made_for_the_sandbox_of_the_file(sweep: Path) -> None:
    (sweep.parent / "policy.toml").write_text('schema = 1\n[[turns]]\nsay = "."\n')
    sweep.write_text(
        'tasks = ["./test/words"]\nsandbox = "docker"\n[[entry]]\nagent = "claude-code"\n'
        'models = ["scripted/policy.toml"]\n'
    )
    error = call(sweep, "--plan")["error"]
    assert (
        error["message"] == "the model gateway reaches the sandboxes namespace and vm, not docker"
    )


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("everything", [False, True], ids=["the command alone", "all of it"])
def test_a_killed_sweep_goes_on(sweep: Path, everything: bool) -> None:
    sweep.write_text(FILE.replace("attempts = 2", "attempts = 4\nconcurrent = 1"))
    process = subprocess.Popen(
        [BENCHFLOW, "sweep", str(sweep), "--json"],
        cwd=sweep.parent,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not results(sweep.parent):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    if everything:
        (job,) = (path.parent for path in sweep.parent.glob("jobs/*/benchflow.json"))
        kill_all(process, job)
    else:
        process.kill()
        process.wait()
    before = results(sweep.parent)
    assert 1 <= len(before) < 8
    done = call(sweep)
    assert (done["finished"], len(done["jobs"])) == (8, 1)
    assert before.items() <= results(sweep.parent).items()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("attempts = 2", "attempts = 0", "attempts"),
        ("attempts = 2", "atempts = 2", "did you mean attempts?"),
        ("[[entry]]", "[[entrys]]", "did you mean entry?"),
        ("[[entry]]", "[[entry", "line"),
        ('"nop"', '"nopp"', "did you mean nop"),
        ("./test/words", "./no/such", "no/such"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(sweep: Path, old: str, new: str, said: str) -> None:
    sweep.write_text(FILE.replace(old, new, 1))
    answer = call(sweep, "--plan")["error"]
    assert said in answer["message"] + answer["hint"]

"""However a run ends, nothing is left behind that the next command does not clean, and no
finished trial is lost or run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import plain
import pytest
from plain import BENCHFLOW, benchflow, hear, kill_all, owners, run_json

from benchflow.base.home import home
from benchflow.results.jobs import lock

pytestmark = pytest.mark.needs("sandbox")

#: Found in the process table by its argument alone; no other run of these tests has the same.
MARK = f"86399.{os.getpid():07}"
#: Delivers, then hangs until somebody ends its sleep.
HANG = f"#!/bin/bash\necho done > /app/out.txt\nsleep {MARK}\n"


def processes(text: str) -> list[int]:
    """Processes of this host whose command line holds `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def left() -> set[str]:
    """Sandboxes whose owner is gone: another benchflow may run beside these tests."""
    return {name for name, o in owners().items() if not Path(f"/proc/{o['pid']}").exists()}


def identity(path: Path) -> tuple[int, ...]:
    """Another one whenever the file was written, but not for being read (its `st_atime`)."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def mounts() -> set[str]:
    text = Path("/proc/self/mountinfo").read_text()
    return {line.split()[4] for line in text.splitlines() if str(home()) in line}


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.1)


def start(cwd: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [BENCHFLOW, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear,
    )


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A folder with two tasks: `first` ends at once, `second` hangs in its agent."""
    plain.separate(tmp_path / "first")
    plain.separate(tmp_path / "second", solve=HANG)
    return tmp_path


def begin(half: Path) -> subprocess.Popen[str]:
    """Runs both tasks, one at a time, until the second one's agent hangs."""
    process = start(half, "run", "first", "second", "-n", "1", "--job-name", "job")
    until(lambda: processes(MARK) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def finished(job: Path) -> list[Path]:
    return [path.parent for path in job.glob("*/result.json")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_every_sandbox_and_keeps_what_is_finished(
    half: Path, number: signal.Signals
) -> None:
    before = left()
    process = begin(half)
    (first,) = finished(half / "jobs" / "job")
    kept = (first / "result.json").read_bytes()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"stopped by {number.name}" in errors
    assert "benchflow resume job" in errors
    assert "Traceback" not in errors
    assert processes(MARK) == []
    assert left() <= before
    assert mounts() == set()
    assert (first / "result.json").read_bytes() == kept


def test_resume_runs_only_what_was_not_finished(half: Path) -> None:
    process = begin(half)
    (first,) = finished(half / "jobs" / "job")
    kept = identity(first / "result.json")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    process = start(half, "resume", "job", "--json")
    until(lambda: processes(MARK) or process.poll() is not None)
    for pid in processes(MARK):
        os.kill(pid, signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    (job,) = json.loads(output)["jobs"]
    assert job["counts"] == {"resolved": 2, "failed": 0, "error": 0}
    assert identity(first / "result.json") == kept
    assert job["unfinished"] == []


def test_kill_minus_nine_leaves_nothing_that_the_next_command_does_not_clean(half: Path) -> None:
    before = left()
    process = begin(half)
    kill_all(process, half / "jobs" / "job")
    until(lambda: not processes(MARK), 20)
    state = run_json("results", "job", cwd=half)
    assert state["counts"] == {"resolved": 1, "failed": 0, "error": 0}
    assert len(state["unfinished"]) == 1
    assert state["running"] is False
    resumed = start(half, "resume", "job", "--json")
    until(lambda: processes(MARK) or resumed.poll() is not None)
    worker = lock.holder(half / "jobs" / "job")
    assert [owner["pid"] for owner in owners().values()].count(worker) == 1
    assert left() <= before
    for pid in processes(MARK):
        os.kill(pid, signal.SIGTERM)
    output, errors = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, errors
    assert json.loads(output)["jobs"][0]["counts"]["resolved"] == 2
    assert left() <= before
    assert mounts() == set()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_trials_go_on_without_the_command_and_resume_finds_them(
    half: Path, number: signal.Signals
) -> None:
    process = begin(half)
    os.killpg(process.pid, number)  # a terminal that is closed tells all that it has started
    process.communicate(timeout=60)
    assert process.returncode == -number
    (asleep,) = processes(MARK)
    state = run_json("results", "job", cwd=half)
    assert state["running"] is True
    (under_way,) = state["unfinished"]
    resumed = start(half, "resume", "job")
    assert resumed.stdout is not None
    # What was done before is not told again; what is under way is told as it stands.
    first = resumed.stdout.readline()
    assert "second" in first and "agent (limit 1 min 00 s)" in first
    assert processes(MARK) == [asleep]
    os.kill(asleep, signal.SIGTERM)
    output, errors = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, errors
    assert "2 trials: 2 resolved" in output
    assert Path(under_way).name in {path.name for path in finished(half / "jobs" / "job")}


def test_nohup_is_obeyed(half: Path) -> None:
    process = subprocess.Popen(
        ["nohup", BENCHFLOW, "run", "second", "--job-name", "job"],
        cwd=half,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    until(lambda: processes(MARK) or process.poll() is not None)
    os.killpg(process.pid, signal.SIGHUP)
    (asleep,) = processes(MARK)
    os.kill(asleep, signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "1 trial: 1 resolved" in output


def test_a_killed_worker_is_said_and_its_trial_runs_again(half: Path) -> None:
    process = begin(half)
    worker = lock.holder(half / "jobs" / "job")
    assert worker is not None and worker != process.pid
    os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "the process that ran the job was killed by SIGKILL" in errors
    assert "benchflow resume job" in errors


def test_who_looks_on_may_stop_the_job(half: Path) -> None:
    process = begin(half)
    onlooker = start(half, "resume", "job")
    assert onlooker.stdout is not None and "agent" in onlooker.stdout.readline()
    onlooker.send_signal(signal.SIGINT)
    _, told = onlooker.communicate(timeout=60)
    _, errors = process.communicate(timeout=60)
    assert (onlooker.returncode, process.returncode) == (130, 130)
    assert "stopped by SIGINT" in errors and "has stopped" in told
    assert processes(MARK) == []


def test_a_torn_job_is_named_mended_and_resumed(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    job = tmp_path / "jobs" / "job"
    benchflow("run", "task", "-k", "4", "--job-name", "job", cwd=tmp_path)
    good, torn, gone, config = sorted(finished(job))
    kept = (good / "result.json").stat()
    text = (torn / "result.json").read_text()
    (torn / "result.json").write_text(text[: len(text) // 2])
    (gone / "result.json").unlink()
    (config / "config.json").write_text("{")
    for name in ("config.json", "result.json", "lock.json"):
        whole = (job / name).read_text()
        (job / name).write_text(whole[: len(whole) // 2])
    shown = benchflow("results", "job", cwd=tmp_path).stdout
    assert f"problem: jobs/job/{torn.name}/result.json is cut off" in shown
    assert "benchflow resume job" in shown
    done = benchflow("resume", "job", "--json", cwd=tmp_path)
    (found,) = json.loads(done.stdout)["jobs"]
    assert found["counts"] == {"resolved": 4, "failed": 0, "error": 0}
    assert found["problems"] == []
    for name in (f"{torn.name}/result.json", "job/config.json", f"{config.name}/config.json"):
        assert name in done.stderr
    assert (tmp_path / "jobs" / ".torn" / "job" / torn.name / "result.json").exists()
    assert (good / "result.json").stat() == kept
    assert not torn.exists()


def test_errors_are_run_again_only_where_that_is_asked_for(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task", test="#!/bin/bash\nexit 3\n")
    first = run_json("run", "task", "--job-name", "job", cwd=tmp_path, status=4)
    again = run_json("resume", "job", cwd=tmp_path, status=4)
    assert [t["name"] for t in again["trials"]] == [t["name"] for t in first["trials"]]
    third = run_json("resume", "job", "--errors", cwd=tmp_path, status=4)
    assert [t["name"] for t in third["trials"]] != [t["name"] for t in first["trials"]]


def test_a_task_that_changed_is_not_resumed(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    benchflow("run", "task", "-a", "nop", "--job-name", "job", cwd=tmp_path)
    plain.write(tmp_path / "task" / "instruction.md", "Something else.\n")
    done = benchflow("resume", "job", cwd=tmp_path, status=2)
    assert "has changed since this job was started" in done.stderr


def test_a_job_that_was_moved_is_read_but_not_resumed(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    benchflow("run", "task", "-a", "nop", "--job-name", "job", cwd=tmp_path)
    (tmp_path / "jobs" / "job").rename(tmp_path / "moved")
    assert run_json("results", "moved", cwd=tmp_path)["counts"]["failed"] == 1
    done = benchflow("resume", "moved", cwd=tmp_path, status=2)
    assert "the job was moved" in done.stderr

"""What people do to a command: close its output, pipe it into head, delete the folder it is in."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.run import plain

from benchflow.run.doctor import sandbox as checks
from benchflow.run.doctor.check import State


def shell(line: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A line for bash, in which `benchflow` is the command."""
    return subprocess.run(
        ["bash", "-c", f'benchflow() {{ "{plain.BENCHFLOW}" "$@"; }}\n{line}'],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **env},
    )


def finished(job: Path) -> list[str]:
    return [json.loads(p.read_text())["task_name"] for p in job.glob("*/result.json")]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("benchflow agents >&-", 0, "note: standard output is closed"),
        ("benchflow agents > /dev/full", 4, "error: standard output: No space left on device"),
        ("benchflow agents >&- 2>&- <&-", 0, ""),
        ("benchflow run task --max-minutes nan", 2, "nan is no finite number"),
        ("benchflow run task --max-usd inf", 2, "inf is no finite number"),
        ("mkdir gone; cd gone; rmdir ../gone; benchflow results", 2, "directory was deleted"),
    ],
)
def test_each_habit_has_a_clear_word_and_its_status(
    line: str, status: int, said: str, tmp_path: Path
) -> None:
    done = shell(line, tmp_path)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


def test_who_reads_only_the_head_gets_141_and_no_complaint(tmp_path: Path) -> None:
    line = "benchflow --help | head -1 >&2; echo ${PIPESTATUS[0]}"
    done = shell(line, tmp_path, PYTHONUNBUFFERED="1")
    assert done.stdout.strip() in ("0", "141")  # 0: all had been written before head went
    assert "Traceback" not in done.stderr
    slow = shell("benchflow generators | (sleep 0.1; exec <&-); echo ${PIPESTATUS[0]}", tmp_path)
    assert slow.stdout.strip() in ("0", "141")
    assert slow.stderr == ""


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("where", ["| head -1 > /dev/null", "> /dev/full", ">&-"])
def test_a_job_whose_output_goes_away_goes_on(where: str, tmp_path: Path) -> None:
    plain.shared(tmp_path / "task", solve=plain.SOLVE.replace("echo done", "sleep 3; echo done"))
    # The first line is out before the job begins: what is shown later has nowhere to go.
    script = f"benchflow run task --job-name mine {where}; exit ${{PIPESTATUS[0]}}"
    done = shell(script, tmp_path)
    job = tmp_path / "jobs" / "mine"
    if where == "> /dev/full":
        assert done.returncode == 4, done.stderr
        assert not job.exists() or finished(job) == ["task"]
        return
    assert done.returncode in (0, 141), done.stderr
    until = time.monotonic() + 60
    while finished(job) != ["task"] and time.monotonic() < until:
        time.sleep(0.5)
    assert finished(job) == ["task"]
    assert plain.run_json("resume", "mine", cwd=tmp_path)["counts"]["resolved"] == 1


@pytest.mark.needs("sandbox")
def test_terminals_of_few_characters_get_what_they_can_show(tmp_path: Path) -> None:
    plain.shared(tmp_path / "täsk", test="#!/bin/bash\nexit 3\n")
    few = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = shell("benchflow run täsk --job-name mine; benchflow results mine", tmp_path, **few)
    assert "t\\xe4sk" in done.stdout and "1 trial: 1 failed" in done.stdout
    assert "bug" not in done.stderr
    told = shell("benchflow results mine --json", tmp_path, **few)
    assert json.loads(told.stdout)["jobs"][0]["trials"][0]["verdict"] == "failed"


@pytest.mark.needs("sandbox")
def test_doctor_tries_the_network_that_tasks_need_and_says_the_cause(tmp_path: Path) -> None:
    assert checks.network().state is State.OK
    missing = checks.network("/dev/net/none")
    assert missing.state is State.BROKEN
    assert "/dev/net/none is not there" in missing.detail
    assert "modprobe tun" in missing.hint
    (tmp_path / "tun").write_text("")
    other = checks.network(str(tmp_path / "tun"))
    assert other.state is State.BROKEN
    assert other.detail

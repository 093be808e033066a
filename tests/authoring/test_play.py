"""A person plays a task: a real terminal, a real sandbox, the same verification as an agent's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from tests import warm_command
from tests.run import plain

pytestmark = pytest.mark.needs("sandbox")

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return plain.separate(tmp_path / "words")


def trial_in(jobs: Path) -> dict[str, object]:
    done = warm_command.run(["results", str(jobs), "--json"])
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    (trial,) = job["trials"]
    assert isinstance(trial, dict)
    return trial


def test_a_person_works_hands_in_and_is_recorded(task: Path, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    command = [BENCHFLOW, "play", str(task), "--jobs-dir", str(jobs)]
    game = pexpect.spawn(command[0], command[1:], encoding="utf-8", timeout=60, cwd=str(tmp_path))
    game.expect("Write done into /app/out.txt")
    game.expect(r"\[0:00:\d\d\] root@.*# ")
    # Said by the child that the key is meant for: a shell that is about to start one drops the key.
    game.sendline("sh -c 'echo up-$((20 + 22)); exec sleep 600'")
    game.expect("up-42")
    game.sendcontrol("c")  # it belongs to the shell in the sandbox
    game.expect("# ")
    game.sendline("exit")
    game.expect("# ")
    game.sendline("echo done > /app/out.txt; instruction")
    game.expect("Write done into")
    game.sendline("submit")
    game.expect(r"\[y/N\] ")
    game.sendline("n")
    game.expect("Not handed in")
    game.sendline("submit")
    game.expect(r"\[y/N\] ")
    game.sendline("y")
    game.expect("resolved")
    game.expect("You worked for")
    game.expect(pexpect.EOF)
    game.close()
    assert game.exitstatus == 0
    trial = trial_in(jobs)
    assert (trial["agent"], trial["verdict"]) == ("human", "resolved")
    agent = Path(str(trial["path"])) / "agent"
    assert "echo done" in (agent / "session.txt").read_text()
    assert (agent / "session.timing").stat().st_size > 0


def test_the_end_of_the_input_hands_in(task: Path, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    done = subprocess.run(
        [BENCHFLOW, "play", str(task), "--jobs-dir", str(jobs)],
        input="echo nearly > /app/out.txt\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert trial_in(jobs)["verdict"] == "failed"

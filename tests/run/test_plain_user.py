"""A user without any privilege runs, is killed, and goes on, like root."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import plain
import pytest

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))
import plain_user

SCRIPT = """
import glob, os, signal, subprocess, sys, time
os.chdir({folder!r})
command = [sys.executable, "-m", "benchflow.cli.app"]
shared = ["--sandbox-option", "share_logs=yes"]
run = subprocess.Popen([*command, "run", "first", "second", "-n", "1", "--job-name", "j", *shared])
while run.poll() is None and not glob.glob("jobs/j/second*/agent/begun"):
    time.sleep(0.2)
os.kill(int(open("jobs/j/.benchflow.lock").read()), signal.SIGKILL)
run.kill()
run.wait()
sys.exit(subprocess.run([*command, "resume", "j", "--json"]).returncode)
"""
#: Leaves a folder that belongs to the sandbox's ids, and takes its time.
SOLVE = """#!/bin/bash
mkdir -p /logs/agent/folder/below
touch /logs/agent/folder/below/file /logs/agent/begun
echo done > /app/out.txt
sleep 10
"""


@pytest.mark.slow
@pytest.mark.needs("root", "sandbox")
def test_a_plain_user_resumes_after_kill_minus_nine() -> None:
    """Files of the sandbox's ids, which the user cannot remove, are moved out of the way."""
    # Not in pytest's own folder, which is closed to other users whenever a pytest starts.
    with tempfile.TemporaryDirectory(prefix="benchflow-plain-", dir="/var/tmp") as name:
        work = Path(name)
        work.chmod(0o755)
        run_kill_and_resume(work)


def run_kill_and_resume(work: Path) -> None:
    folder = work / "jobs-of-a-user"
    plain.shared(folder / "first")
    plain.separate(folder / "second", solve=SOLVE)
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, plain_user.UID, plain_user.UID)
    done = plain_user.run(SCRIPT.format(folder=str(folder)), work, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    job = plain.run_json("results", "j", cwd=folder)
    assert job["counts"] == {"resolved": 2, "failed": 0, "error": 0}
    assert len(list((folder / "jobs" / ".torn" / "j").glob("second__*"))) == 1

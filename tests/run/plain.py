"""Writes small plain Harbor tasks, and runs `benchflow` as a person would."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests import warm_command

from benchflow.base.home import home
from benchflow.results.jobs import lock

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")

SOLVE = """#!/bin/bash
echo "STOP_AFTER=${STOP_AFTER:-}"
echo done > /app/out.txt
"""
TEST = """#!/bin/bash
if [ "$(cat /app/out.txt 2>/dev/null)" = done ]; then reward=1; else reward=0; fi
echo "$reward" > /logs/verifier/reward.txt
"""
DOCKERFILE = "FROM debian:bookworm\nWORKDIR /app\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if text.startswith("#!"):
        path.chmod(0o755)


def shared(folder: Path, *, schema: str = "1.0", solve: str = SOLVE, test: str = TEST) -> Path:
    """A task of schema 1.0 whose verifier runs in the agent's own sandbox."""
    write(
        folder / "task.toml",
        f'version = "{schema}"\n[agent]\ntimeout_sec = 60\n[verifier]\ntimeout_sec = 60\n'
        "[environment]\nmemory_mb = 256\ncpus = 1\nstorage_mb = 1024\n",
    )
    write(folder / "instruction.md", "Write done into /app/out.txt.\n")
    write(folder / "environment" / "Dockerfile", DOCKERFILE)
    write(folder / "solution" / "solve.sh", solve)
    write(folder / "tests" / "test.sh", test)
    return folder


def separate(folder: Path, *, solve: str = SOLVE, test: str = TEST) -> Path:
    """A task of schema 1.4 whose verifier has a sandbox of its own and no network."""
    shared(folder, solve=solve, test=test)
    write(
        folder / "task.toml",
        'schema_version = "1.4"\nartifacts = ["/app/out.txt"]\n'
        '[task]\nname = "test/separate"\n[agent]\ntimeout_sec = 60\n'
        '[verifier]\ntimeout_sec = 60\nenvironment_mode = "separate"\n'
        '[verifier.environment]\nmemory_mb = 256\nnetwork_mode = "no-network"\n'
        "[environment]\nmemory_mb = 256\ncpus = 1\nstorage_mb = 1024\n",
    )
    write(folder / "tests" / "Dockerfile", "FROM debian:bookworm\nCOPY . /tests\n")
    return folder


def steps(folder: Path) -> Path:
    """A task of two steps; the second starts from what the first left."""
    shared(folder, schema="1.4")
    (folder / "instruction.md").unlink()
    config = (folder / "task.toml").read_text().replace("version =", "schema_version =")
    write(folder / "task.toml", config + '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n')
    for name, wanted in {"one": "1", "two": "1\n2"}.items():
        step = folder / "steps" / name
        write(step / "instruction.md", f"Append to /app/out.txt: step {name}.\n")
        number = wanted[-1]
        write(step / "solution" / "solve.sh", f"#!/bin/bash\necho {number} >> /app/out.txt\n")
        test = TEST.replace("= done", f"= $'{wanted}'".replace("\n", "\\n"))
        write(step / "tests" / "test.sh", test)
    return folder


def benchflow(
    *arguments: str, cwd: Path, status: int | None = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    """Runs the command; fails the test when its exit status is not `status`."""
    done = warm_command.run(arguments, cwd=cwd, env={**os.environ, **env})
    if status is not None:
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done


def hear() -> None:
    """Ignore no signal, whatever started these tests (nohup, `&` in a script)."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def owners() -> dict[str, dict[str, Any]]:
    """Sandbox → its owner's record, of all on this machine that have one yet."""
    found = {}
    for path in (home() / "sandboxes").glob("*/owner.json"):
        with contextlib.suppress(FileNotFoundError):  # its owner has just ended it
            found[path.parent.name] = json.loads(path.read_text())
    return found


def kill_all(process: subprocess.Popen[Any], job: Path) -> None:
    """kill -9 of a command and of the process that runs its job."""
    for pid in (process.pid, lock.holder(job)):
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 60
    while lock.is_held(job):
        assert time.monotonic() < end, "who runs the job outlived its death"
        time.sleep(0.01)


def run_json(*arguments: str, cwd: Path, status: int = 0, **env: str) -> dict[str, Any]:
    """`benchflow … --json`; the one job that it prints."""
    done = benchflow(*arguments, "--json", cwd=cwd, status=status, **env)
    (job,) = json.loads(done.stdout)["jobs"]
    assert isinstance(job, dict)
    return job


def gates(task: Path, *names: str, again: bool = False) -> dict[str, Any]:
    """Gate → its result, as `benchflow check --json` says it."""
    options = [option for name in names for option in ("--gate", name)] + ["--again"] * again
    done = benchflow("check", str(task), *options, "--json", cwd=task.parent, status=None)
    assert done.returncode in (0, 1), f"{done.stdout}\n{done.stderr}"
    (results,) = json.loads(done.stdout)["tasks"].values()
    return {result["gate"]: result for result in results}

"""A small trial that waits for a driver, and `benchflow drive` as a program would call it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.needs import needs
from tests.run import ours

from benchflow.agents.external import wire
from benchflow.results.jobs.trials import read_job
from benchflow.results.model import Job

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")
#: Far more than these tests need, on a busy host too.
SECONDS = 600


@dataclass
class Lent:
    """A job under way in `top`; `trials` are its folders that wait."""

    top: Path
    process: subprocess.Popen[str]
    trials: list[Path]

    @property
    def trial(self) -> Path:
        (one,) = self.trials
        return one

    def drive(self, *words: str, status: int | None = 0) -> subprocess.CompletedProcess[bytes]:
        """`benchflow drive …`; fails the test when its exit status is not `status`."""
        done = subprocess.run(
            [BENCHFLOW, "drive", *words], capture_output=True, check=False, cwd=self.top
        )
        if status is not None:
            assert done.returncode == status, (done.stdout[-2000:], done.stderr[-2000:])
        return done

    def told(self, *words: str, status: int | None = 0) -> dict[str, Any]:
        """The same with --json."""
        op, *rest = words
        found = json.loads(self.drive(op, "--json", *rest, status=status).stdout)
        assert isinstance(found, dict)
        return found

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """A call that is left under way; returns once the trial has taken it up."""
        end = time.monotonic() + 300
        while True:
            made = subprocess.Popen(
                [BENCHFLOW, "drive", *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.top,
            )
            while made.poll() is None:
                if b"under way" in self.drive("run", "true", status=None).stderr:
                    return made
            # The question was the quicker of the two, and this one was refused: once more.
            said = made.communicate()
            assert b"under way" in said[1] and time.monotonic() < end, said

    def ended(self) -> Job:
        """The job, once it is over."""
        self.process.wait(timeout=300)
        return read_job(self.job)

    @property
    def job(self) -> Path:
        (job,) = (self.top / "jobs").iterdir()
        return job

    def steps(self) -> list[tuple[str, dict[str, Any], str]]:
        """(tool, arguments, what came back) of all that was recorded of the trial's agent."""
        document = json.loads((self.trial / "agent" / "trajectory.json").read_text())
        return [
            (call["function_name"], call["arguments"], step["observation"]["results"][0]["content"])
            for step in document["steps"]
            for call in step.get("tool_calls", ())
        ]


@pytest.fixture
@needs("sandbox")
def lend(tmp_path: Path) -> Iterator[Callable[..., Lent]]:
    """Starts a job with trials that wait: `lend("-k", "2", seconds=30, waiting=2)`."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str, seconds: int = SECONDS, waiting: int = 1) -> Lent:
        config = ours.words(tmp_path) / "task.toml"
        config.write_text(config.read_text().replace("_sec = 60\n", f"_sec = {seconds}\n"))
        process = subprocess.Popen(
            [BENCHFLOW, "run", "test/words", "-a", "external:tester", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
        )
        started.append(process)
        return Lent(tmp_path, process, found(process, tmp_path, waiting))

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=300)


def found(process: subprocess.Popen[str], top: Path, n: int) -> list[Path]:
    """The folders of the `n` trials that wait, as soon as they do."""
    end = time.monotonic() + 300
    while True:
        trials = [path.parent for path in sorted(top.glob(f"jobs/*/*/{wire.NAME}"))]
        waiting = [trial for trial in trials if wire.is_waiting(trial)]
        if len(waiting) == n:
            return waiting
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "no trial waits"
        time.sleep(0.1)

"""How long a task's verification takes with nothing beside it, against the six minutes allowed.

    uv run python benchmarks/verification.py [TASK…]

What an oracle of `benchflow check TASK --gate oracle` delivered is verified once more, one task
after the other. The other side is what the machines computed: a verification that takes much longer
than its processor time waits for its machines' clocks, and another core would not shorten it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from timing import headline, row

from benchflow.authoring.trials import Trials
from benchflow.boot.machine.calibrate import measure
from benchflow.results.jobs.sandboxes import others_share, reports
from benchflow.results.json_values import mapping, number
from benchflow.results.model import Trial, Verdict
from benchflow.run.live.progress import Silence
from benchflow.run.verify.verification import VerifyRequest, verify
from benchflow.tasks import Task, catalogue

ALLOWED = 360  # s
IDLE = 0.1  # of the processors, for others


def delivered(task: Task) -> dict[str, Path] | None:
    """Deliverable → file of a resolved oracle that a gate has kept; None where there is none."""
    for trial in Trials(task, Silence()).known_oracles():
        top = trial.path / "artifacts"
        found = {each.path: top / each.path.lstrip("/") for each in task.deliverables}
        if trial.verdict is Verdict.RESOLVED and all(path.exists() for path in found.values()):
            return found
    return None


def computed(trial: Trial) -> float:
    """Processor seconds of the verifier's sandbox, machines included."""
    return sum(
        number(mapping(mapping(box).get("used")).get("cpu_seconds")) or 0.0
        for box in reports(trial.path).values()
    )


def tell(task: Task, given: dict[str, Path], folder: Path) -> None:
    began = time.monotonic()
    trial = verify(VerifyRequest(task, given, folder), Silence()).trial
    seconds = time.monotonic() - began
    share = others_share(trial.path)
    beside = "?" if share is None else f"{share:.0%}"
    idle = "" if share is not None and share < IDLE else ", NOT IDLE"
    row(f"{task.name}: {trial.verdict}", f"{seconds:.0f} s", f"≤ {ALLOWED} s")
    row("  the same, processor", f"{computed(trial):.0f} s", f"others had {beside}{idle}")


def main(names: list[str]) -> None:
    headline("a verification of each oracle's deliverable, one after the other")
    speed = os.environ.get("BENCHFLOW_HOST_SPEED") or f"{measure('x86_64').speed:.2f}"
    row("the host's speed, of the reference's", f"{speed}×")
    for task in catalogue():
        if names and task.name not in names:
            continue
        given = delivered(task)
        if given is None:
            row(task.name, "no oracle kept", f"benchflow check {task.name} --gate oracle")
            continue
        with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-", dir="/var/tmp") as folder:
            tell(task, given, Path(folder) / "evidence")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Whatever an agent leaves running, mounted or filled, what is on its disk is judged."""

from __future__ import annotations

from pathlib import Path

import plain
import pytest
from plain import run_json

from benchflow.results.jobs.faults import first_fault

pytestmark = pytest.mark.needs("sandbox")

#: Sandboxes with so few processes that a test can use them up.
NARROW = """
from benchflow.run.job.environment import TrialEnvironment
class Narrow(TrialEnvironment):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, pids=64, **kwargs)
"""
DAEMONS = "perl -e 'while (defined(my $p = fork)) { if (!$p) { sleep 600; exit } }'\n"
FILLED = "mkdir /m && mount -t tmpfs -o size=1g t /m && head -c 1G /dev/zero > /m/x\n"
LATER = (
    "mkdir /m && mount -t tmpfs -o size=1g t /m\n"
    "(setsid sh -c 'sleep 1; head -c 1G /dev/zero > /m/x' >/dev/null 2>&1 &)\n"
)


def _trial(folder: Path, solve: str) -> dict:
    plain.separate(folder / "task", solve=f"#!/bin/bash\n{solve}")
    (folder / "narrow.py").write_text(NARROW)
    job = run_json(
        "run", "task", "--sandbox", "narrow:Narrow", cwd=folder, PYTHONPATH=str(folder)
    )  # fmt: skip
    (trial,) = job["trials"]
    assert first_fault(Path(trial["path"])) is None
    return trial


@pytest.mark.parametrize(
    "left", [DAEMONS, FILLED, LATER], ids=["daemons", "filled", "filled later"]
)
def test_what_was_delivered_is_judged_whatever_else_was_left(tmp_path: Path, left: str) -> None:
    assert _trial(tmp_path, f"echo done > /app/out.txt\n{left}")["verdict"] == "resolved"


@pytest.mark.parametrize(
    "left",
    [
        DAEMONS,
        FILLED,
        "rm -rf /app; ln -s app /app\n",
        "rm -rf /app /tmp; ln -s tmp /tmp\n" + DAEMONS,
    ],
    ids=["daemons", "filled", "circle", "broken root"],
)
def test_nothing_that_was_left_excuses_that_nothing_was_delivered(
    tmp_path: Path, left: str
) -> None:
    assert _trial(tmp_path, left)["verdict"] == "failed"

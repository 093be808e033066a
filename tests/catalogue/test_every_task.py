"""What holds for every task of the catalogue: its parts agree."""

from __future__ import annotations

import re
import subprocess

import pytest

from benchflow.authoring.static_gates import LEAST_CHECKS, LEAST_MILESTONES
from benchflow.tasks import Task, find, names

#: Oracles in whose scripts some milestones have no place of their own.
ENTWINED = ("container/oci-base", "from-source/tiny-linux")
#: How an oracle asks, in front of a milestone's work, whether it is to do it.
#: `broken` of speedrun/smallest-kernel asks by `has "$1"`, and fails where it would break nothing.
ASKS = (r"^has {} \|\|", r"\bhas {}\b", r"^reached {}$", r"^broken {} \S+ '")


@pytest.fixture(params=names())
def task(request: pytest.FixtureRequest) -> Task:
    return find(request.param)


def test_every_demand_is_proved_and_every_check_proves_one(task: Task) -> None:
    checks = [check for milestone in task.milestones for check in milestone.checks]
    assert len(task.milestones) >= LEAST_MILESTONES and len(checks) >= LEAST_CHECKS
    assert {r for check in checks for r in check.proves} == set(task.requirements)
    assert all(check.proves for check in checks)


def test_the_oracle_knows_every_rung_in_the_order_of_the_ladder(task: Task) -> None:
    script = (task.path / "solution/solve.sh").read_text()
    rungs = [milestone.id for milestone in task.milestones]
    ladder = re.search(r'^ladder="([^"]+)"', script, re.MULTILINE)
    found = ladder[1].split() if ladder else re.findall(r"(?m)^reached ([a-z-]+)$", script)
    assert found == rungs
    # An oracle may also hand what it is to do to the compiler.
    named = "".join(path.read_text() for path in (task.path / "solution").rglob("*.[ch]"))
    for rung in rungs[1:] if task.name not in ENTWINED else ():
        asked = any(re.search(asks.format(rung), script, re.MULTILINE) for asks in ASKS)
        word = rung.upper().replace("-", "_")
        asked |= bool(re.search(rf"^#ifn?def (WITHOUT_)?{word}$", named, re.MULTILINE))
        assert asked, f"{rung} cannot be left out"


def test_scripts_parse(task: Task) -> None:
    scripts = [
        path for folder in ("solution", "exploits") for path in (task.path / folder).glob("*.sh")
    ]
    assert len(scripts) > len(task.exploits), "solve.sh, and each exploit"
    for script in (*scripts, *(variant.path for variant in task.variants)):
        subprocess.run(["bash", "-n", str(script)], check=True)


def test_each_exploit_says_how_far_its_honest_part_goes(task: Task) -> None:
    rungs = [milestone.id for milestone in task.milestones]
    for exploit in task.exploits:
        assert exploit.allowed == tuple(rung for rung in rungs if rung in exploit.allowed)
        stop = re.search(r"STOP_AFTER=([a-z-]+)", exploit.path.read_text())
        honest = rungs[: rungs.index(stop[1]) + 1] if stop else rungs
        assert set(exploit.allowed) <= set(honest), exploit.name

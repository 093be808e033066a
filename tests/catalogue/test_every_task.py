"""What holds for every task of the catalogue: it is as large as it was, and its parts agree."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

import pytest

from benchflow.tasks import Task, find, names


@dataclass(frozen=True)
class Shape:
    """How large a task is. `has`: how its oracle asks, in front of a rung's work, whether it is to
    do it, with `{}` for the rung; "" where a rung is no place of its own in the script."""

    milestones: int
    checks: int
    scripts: int
    has: str = ""


#: A rung or a check that is lost is noticed here; one that is added is written down here.
SHAPES = {
    "container/oci-base": Shape(13, 42, 8),
    "container/host-os": Shape(14, 56, 10, r"^has {} \|\|"),
    "embedded/ab-update": Shape(14, 48, 7, r"^has {} \|\|"),
    "embedded/accelerator": Shape(16, 56, 9, r"\bhas {}\b"),
    "embedded/arm64-gateway": Shape(15, 47, 12, r"^has {} \|\|"),
    "embedded/locked-down": Shape(15, 55, 19, r"^has {} \|\|"),
    "from-source/cross-toolchain": Shape(15, 43, 9, r"^has {} \|\|"),
    "from-source/package-manager": Shape(14, 48, 8, r"^has {} \|\|"),
    "from-source/tiny-linux": Shape(14, 56, 7),
    "repair/dead-server": Shape(16, 46, 12, r"^reached {}$"),
    "spin/appliance": Shape(15, 43, 11, r"\bhas {}\b"),
    "spin/derivative": Shape(14, 48, 9, r"^has {} \|\|"),
    "spin/installer": Shape(13, 45, 9, r"^has {} \|\|"),
    "spin/live-iso": Shape(15, 49, 9, r"^has {} \|\|"),
    "spin/rpm-kickstart": Shape(17, 48, 10, r"^has {} \|\|"),
}


@pytest.fixture(params=names())
def task(request: pytest.FixtureRequest) -> Task:
    return find(request.param)


def test_every_demand_is_proved_and_every_check_proves_one(task: Task) -> None:
    checks = [check for milestone in task.milestones for check in milestone.checks]
    shape = SHAPES[task.name]
    assert (len(task.milestones), len(checks)) == (shape.milestones, shape.checks)
    assert {r for check in checks for r in check.proves} == set(task.requirements)
    assert all(check.proves for check in checks)


def test_the_oracle_knows_every_rung_in_the_order_of_the_ladder(task: Task) -> None:
    script = (task.path / "solution/solve.sh").read_text()
    rungs = [milestone.id for milestone in task.milestones]
    ladder = re.search(r'^ladder="([^"]+)"', script, re.MULTILINE)
    found = ladder[1].split() if ladder else re.findall(r"(?m)^reached ([a-z-]+)$", script)
    assert found == rungs
    for rung in rungs[1:]:
        asks = SHAPES[task.name].has.format(rung)
        assert re.search(asks, script, re.MULTILINE), f"{rung} cannot be left out"


def test_scripts_parse(task: Task) -> None:
    scripts = [
        path for folder in ("solution", "exploits") for path in (task.path / folder).glob("*.sh")
    ]
    assert len(scripts) == SHAPES[task.name].scripts
    for script in (*scripts, *(variant.path for variant in task.variants)):
        subprocess.run(["bash", "-n", str(script)], check=True)


def test_each_cheat_says_how_far_its_honest_part_goes(task: Task) -> None:
    rungs = [milestone.id for milestone in task.milestones]
    for exploit in task.exploits:
        assert exploit.allowed == tuple(rung for rung in rungs if rung in exploit.allowed)
        stop = re.search(r"STOP_AFTER=([a-z-]+)", exploit.path.read_text())
        honest = rungs[: rungs.index(stop[1]) + 1] if stop else rungs
        assert set(exploit.allowed) <= set(honest), exploit.name

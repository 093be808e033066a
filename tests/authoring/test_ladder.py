"""The gate `ladder` of a task of ours: stopped after each rung, exactly the rungs up to it."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lamp import TASK_TOML
from tests.run.plain import gates, write

from benchflow.base.home import home

pytestmark = pytest.mark.needs("sandbox")

CHECKS = """from benchflow.boot import milestone


def lines(deliverable):
    return deliverable().read_text(errors="replace").split()


@milestone("switched", proves=["R1"])
def test_it_is_switched_on(deliverable):
    assert "switched" in lines(deliverable)


@milestone("lit", requires=["switched"], proves=["R2"])
def test_it_is_lit(deliverable):
    assert "lit" in lines(deliverable)


@milestone("warm", requires=["lit"], proves=["R3"])
def test_it_is_warm(deliverable):
    assert "warm" in lines(deliverable)
"""
ANEW = """#!/bin/sh -e
: > /app/lamp.img
for rung in switched lit warm; do
  echo $rung >> /app/lamp.img
  [ "${STOP_AFTER:-}" != $rung ] || exit 0
done
"""
GOES_ON = """#!/bin/sh -e
for rung in switched lit warm; do
  grep -qx $rung /app/lamp.img 2>/dev/null || echo $rung >> /app/lamp.img
  [ "${STOP_AFTER:-}" != $rung ] || exit 0
done
"""


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    """A lamp whose name nobody else has, so that nothing is remembered of it."""
    variant = f"lamp-{uuid.uuid4().hex[:8]}"
    folder = tmp_path / "embedded" / variant
    manifest = TASK_TOML.split("[[metadata.benchflow.exploits]]")[0]
    manifest = manifest.replace('kind = "disk"', 'kind = "file"').replace('lamp"', f'{variant}"')
    write(folder / "task.toml", manifest)
    write(folder / "instruction.md", "Build a lamp. [R1] It is on. [R2] It is lit. [R3] Warm.\n")
    write(folder / "environment" / "Dockerfile", "FROM debian:bookworm\nRUN mkdir /app\n")
    write(folder / "solution" / "solve.sh", ANEW)
    write(folder / "tests" / "checks.py", CHECKS)
    yield folder
    for path in (home() / "checks").glob(f"embedded-{variant}-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def goes_on(task: Path, script: str) -> None:
    """From here on the oracle goes on where it stopped."""
    manifest = task / "task.toml"
    text = manifest.read_text()
    manifest.write_text(
        text.replace("oracle_minutes = 1", "oracle_minutes = 1\noracle_incremental = true")
    )
    write(task / "solution" / "solve.sh", script)


def test_each_rung_begins_anew(task: Path) -> None:
    assert gates(task, "ladder")["ladder"]["status"] == "passed"


def test_one_sandbox_climbs_and_its_own_trial_is_the_last_rung(task: Path) -> None:
    goes_on(task, GOES_ON)
    found = gates(task, "ladder")["ladder"]
    assert (found["status"], found["summary"]) == ("passed", "3 milestones"), found
    (rungs,) = (home() / "checks").glob(f"embedded-{task.name}-*-rungs")
    assert sorted(path.name for path in rungs.iterdir()) == ["lit", "switched"]


def test_a_climb_that_ends_in_the_middle_is_no_last_rung(task: Path) -> None:
    """What lies there is more than the rung below, and was never stopped after."""
    goes_on(task, GOES_ON.replace("  [ ", "  [ $rung != warm ] || exit 1\n  [ "))
    found = gates(task, "ladder")["ladder"]
    assert found["status"] == "failed"
    ended = "solve.sh did not run to its end: its script ended with status 1 (agent/script.txt)"
    assert found["findings"] == [f"stopped after warm, {ended}"]


def test_a_rung_that_is_too_high_is_named(task: Path) -> None:
    goes_on(
        task, GOES_ON.replace("[ ", '[ "${STOP_AFTER:-}" = switched ] && [ $rung != lit ] || [ ')
    )
    found = gates(task, "ladder")["ladder"]
    assert found["status"] == "failed"
    assert any("switched" in finding for finding in found["findings"]), found

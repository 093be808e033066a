"""The gate `ladder` of a task of ours: stopped after each rung, exactly the rungs up to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.written_lamp import ANEW, GOES_ON, incremental, written
from tests.run.plain import gates, write

from benchflow.base.home import home

pytestmark = pytest.mark.needs("sandbox")


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    with written(tmp_path, ANEW) as folder:
        yield folder


def goes_on(task: Path, script: str) -> None:
    """From here on the oracle goes on where it stopped."""
    incremental(task)
    write(task / "solution" / "solve.sh", script)


def test_each_rung_begins_anew(task: Path) -> None:
    assert gates(task, "ladder")["ladder"]["status"] == "passed"


def test_one_sandbox_climbs_and_its_own_trial_is_the_last_rung(task: Path) -> None:
    goes_on(task, GOES_ON)
    found = gates(task, "ladder")["ladder"]
    assert (found["status"], found["summary"]) == ("passed", "3 milestones"), found
    (climb,) = (home() / "checks").glob(f"embedded-{task.name}-*-ladder-parts/*")
    assert sorted(path.name for path in climb.iterdir()) == ["lit", "switched", "warm"]


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

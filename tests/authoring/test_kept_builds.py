"""Where only what judges has changed, deliverables that were built before are verified again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.written_lamp import SIGNED, incremental, written
from tests.run.plain import gates, write

from benchflow.base.home import home

pytestmark = pytest.mark.needs("sandbox")


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    with written(tmp_path, SIGNED) as folder:
        incremental(folder)
        yield folder


def built(task: Path) -> set[str]:
    """What each run of the oracle said of itself, of all that was verified so far."""
    files = (home() / "checks").glob(f"embedded-{task.name}-*/*/artifacts/app/lamp.img")
    return {line for path in files for line in path.read_text().split() if "-" in line}


def another_check(task: Path, wanted: str) -> None:
    checks = task / "tests" / "checks.py"
    last = checks.read_text().rindex("    assert ")
    checks.write_text(f"{checks.read_text()[:last]}    assert {wanted} in lines(deliverable)[1:]\n")


KEPT = "built before, verified again"


def test_a_changed_check_builds_nothing_again(task: Path) -> None:
    first = gates(task, "oracle", "budget", "ladder")
    assert {found["status"] for found in first.values()} == {"passed"}, first
    before = built(task)
    another_check(task, '"warm"')
    found = gates(task, "oracle", "budget", "ladder")
    assert {one["status"] for one in found.values()} == {"passed"}, found
    assert found["oracle"]["summary"] == f"resolved 2 of 2 times; {KEPT}"
    assert KEPT in found["ladder"]["summary"]
    assert built(task) == before
    # Of the verifications, their own time; of the work, what it took when it was done.
    assert "verification 0.00 s" not in found["budget"]["summary"]
    another_check(task, '"hot"')
    found = gates(task, "oracle", "ladder")
    assert {one["status"] for one in found.values()} == {"failed"}, found
    assert built(task) == before


def test_other_scripts_and_an_author_who_asks_are_built_anew(task: Path) -> None:
    gates(task, "oracle")
    first = built(task)
    another_check(task, '"warm"')
    assert gates(task, "oracle", again=True)["oracle"]["summary"] == "resolved 2 of 2 times"
    second = built(task)
    assert len(second) > len(first)
    write(task / "solution" / "solve.sh", SIGNED.replace("-e\n", "-e\n: otherwise\n"))
    assert gates(task, "oracle")["oracle"]["summary"] == "resolved 2 of 2 times"
    assert len(built(task)) > len(second)


def test_what_did_not_end_well_or_is_gone_stands_for_nothing(task: Path) -> None:
    write(task / "solution" / "solve.sh", SIGNED + "exit 3\n")
    assert gates(task, "oracle")["oracle"]["status"] == "passed"
    first = built(task)
    another_check(task, '"warm"')
    assert KEPT not in gates(task, "oracle")["oracle"]["summary"]
    assert len(built(task)) > len(first)

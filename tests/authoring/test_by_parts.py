"""Gates that ask deliverables for some milestones alone: what they prove, and how they fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.written_lamp import ANEW, CHECKS, GOES_ON, incremental, written
from tests.run.plain import gates, write

from benchflow.authoring.review import review
from benchflow.base.home import home
from benchflow.tasks import load

pytestmark = pytest.mark.needs("sandbox")

#: A milestone behind all others.
PAINTED = """

@milestone("painted", requires=["switched"], proves=["R3"])
def test_it_is_painted(deliverable):
    assert "painted" in lines(deliverable)
"""
#: What the last milestone reads was left by a check of one that it does not require.
LEFT_BEHIND = """from benchflow.boot import milestone

SEEN = []


@milestone("switched", proves=["R1"])
def test_it_is_switched_on(deliverable):
    assert "switched" in deliverable().read_text()


@milestone("lit", requires=["switched"], proves=["R2"])
def test_it_is_lit(deliverable):
    SEEN.extend(deliverable().read_text().split())
    assert "lit" in SEEN


@milestone("warm", requires=["switched"], proves=["R3"])
def test_it_is_warm():
    assert "warm" in SEEN
"""


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    with written(tmp_path, ANEW) as folder:
        yield folder


def exploit(task: Path, words: str, *allowed: str, end: str = "true") -> None:
    """The task's one exploit: what it delivers, and what it may gain."""
    write(task / "exploits" / "cheap.sh", f"#!/bin/sh\necho '{words}' > /app/lamp.img\n{end}\n")
    with (task / "task.toml").open("a") as manifest:
        manifest.write(
            f'[[metadata.benchflow.exploits]]\nscript = "cheap"\nallowed = {json.dumps(allowed)}\n'
            'why = "so much is honest"\n'
        )


def ran(task: Path, pattern: str) -> set[str]:
    """The checks that a verification of some milestones alone has run."""
    (found,) = (home() / "checks").glob(f"embedded-{task.name}-*-parts/{pattern}")
    told = json.loads((found / "verifier" / "milestones.json").read_text())
    assert told["reward"] is None and told["resolved"] is None and told["partial"]
    assert not (found / "verifier" / "reward.json").exists()
    return {c["name"] for m in told["milestones"] for c in m["checks"] if c["status"] != "not run"}


def test_an_exploit_is_asked_for_nothing_behind_what_has_to_catch_it(task: Path) -> None:
    write(task / "tests" / "checks.py", CHECKS + PAINTED)
    write(task / "solution" / "solve.sh", ANEW.replace("lit warm", "lit warm painted"))
    exploit(task, "switched lit painted", "switched", "lit", "painted")
    found = gates(task, "oracle", "exploits")["exploits"]
    assert (found["status"], found["summary"]) == ("passed", "1 exploit, 1 with a declared gain")
    rungs = {"test_it_is_switched_on", "test_it_is_lit", "test_it_is_warm"}
    assert ran(task, "*/cheap") == rungs
    (row,) = (row for row in review(load(task)).exploits if not row.common)
    assert row.gained == ("switched", "lit", "1 declared, not looked at")


@pytest.mark.parametrize(
    ("words", "allowed", "finding"),
    [
        ("switched lit", ("switched",), "cheap gains lit"),
        ("switched lit warm", ("switched", "lit"), "cheap gains warm"),
        ("switched", ("switched", "lit"), "cheap is declared to gain lit and does not"),
        ("switched lit warm", ("switched", "lit", "warm"), "cheap resolves the task"),
    ],
)
def test_an_exploit_that_gains_more_or_ends_too_early_is_found(
    task: Path, words: str, allowed: tuple[str, ...], finding: str
) -> None:
    exploit(task, words, *allowed)
    found = gates(task, "exploits")["exploits"]
    assert found["status"] == "failed"
    assert found["findings"][0].startswith(finding)


def test_an_exploit_that_did_not_end_well_is_not_verified(task: Path) -> None:
    exploit(task, "switched", "switched", end="exit 7")
    found = gates(task, "exploits")["exploits"]
    assert found["status"] == "failed"
    assert found["findings"][0].startswith(
        "cheap did not run to its end: its script ended with status 7"
    )


def test_an_exploit_is_not_let_through_by_a_check_that_was_left_out(task: Path) -> None:
    write(task / "tests" / "checks.py", LEFT_BEHIND)
    exploit(task, "switched lit warm", "switched", "lit")
    found = gates(task, "oracle", "exploits")["exploits"]
    assert found["findings"] == ["cheap gains warm"]
    assert found["summary"].endswith("1 deliverable verified whole")
    assert "test_it_is_warm" in ran(task, "*/cheap")


@pytest.mark.parametrize("goes_on", [False, True])
def test_the_ladder_does_not_mistake_a_check_that_was_left_out_for_work_to_be_done(
    task: Path, goes_on: bool
) -> None:
    write(task / "tests" / "checks.py", LEFT_BEHIND)
    if goes_on:
        incremental(task)
    # What makes it warm is done with what makes it lit.
    early = (GOES_ON if goes_on else ANEW).replace("switched lit warm", "switched lit")
    early = early.replace(
        '  [ "${STOP', '  [ $rung = switched ] || echo warm >> /app/lamp.img\n  [ "${STOP'
    )
    write(task / "solution" / "solve.sh", early)
    found = gates(task, "ladder")["ladder"]
    assert "stopped after lit, warm pass too early" in found["findings"]


def test_checks_that_count_on_others_are_no_fault_of_the_ladder(task: Path) -> None:
    """Behind the same checks the last stop passes what the one before it has not."""
    write(task / "tests" / "checks.py", LEFT_BEHIND)
    found = gates(task, "ladder")["ladder"]
    assert (found["status"], found["summary"]) == (
        "passed", "3 milestones; 1 deliverable verified whole"
    )  # fmt: skip


def test_a_milestone_that_is_missing_at_its_own_stop_is_named(task: Path) -> None:
    late = ANEW.replace("echo $rung", "[ ${STOP_AFTER:-} = lit ] || echo $rung")
    write(task / "solution" / "solve.sh", late.replace("${STOP_AFTER:-} =", '"${STOP_AFTER:-}" ='))
    found = gates(task, "ladder")["ladder"]
    assert found["status"] == "failed"
    assert found["findings"][0].startswith("stopped after lit, lit, switched do not pass")


def test_an_oracle_that_only_climbs_or_only_runs_through_is_found(task: Path) -> None:
    incremental(task)
    climbs = GOES_ON.replace(
        "do\n", 'do\n  [ -n "${STOP_AFTER:-}" ] || [ $rung != warm ] || exit 0\n'
    )
    write(task / "solution" / "solve.sh", climbs)
    found = gates(task, "oracle")["oracle"]
    assert (found["status"], found["summary"]) == ("failed", "resolved 1 of 2 times")

"""Where only what judges has changed, deliverables that were built before are verified again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.written_lamp import SIGNED, incremental, written
from tests.run.plain import BENCHFLOW, gates, hear, write

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


def shares(task: Path, name: str, words: str) -> None:
    """An exploit that may run where others have built, and gains the first milestone."""
    write(task / "exploits" / f"{name}.sh", f"#!/bin/sh\necho {words} > /app/lamp.img\n")
    with (task / "task.toml").open("a") as manifest:
        manifest.write(
            f'[[metadata.benchflow.exploits]]\nscript = "{name}"\nallowed = ["switched"]\n'
            'why = "so much is honest"\nincremental = true\n'
        )


def test_a_script_that_joined_a_sandbox_since_has_never_run_there(task: Path) -> None:
    """What the last one of that sandbox delivered is not what this one delivers."""
    write(task / "exploits" / "later.sh", "#!/bin/sh\necho switched lit > /app/lamp.img\n")
    shares(task, "first", "switched")
    before = gates(task, "exploits")["exploits"]
    assert before["findings"] == ["later gains switched, lit"]
    shares(task, "later", "switched lit")
    found = gates(task, "exploits")["exploits"]
    assert KEPT not in found["summary"]
    assert found["findings"] == ["later gains lit"]


def test_a_climb_that_knew_no_such_milestone_stands_for_none(task: Path) -> None:
    solve = task / "solution" / "solve.sh"
    solve.write_text(solve.read_text().replace("switched lit warm", "switched lit warm hot"))
    assert gates(task, "ladder")["ladder"]["status"] == "passed"
    checks = (task / "tests" / "checks.py").read_text()
    further = checks[checks.rindex("@milestone") :].replace("warm", "hot")
    write(task / "tests" / "checks.py", f"{checks}\n\n{further}")
    found = gates(task, "ladder")["ladder"]
    assert (found["status"], found["summary"]) == ("passed", "4 milestones")


@pytest.mark.parametrize("how", ["changed", "taken away"])
def test_what_was_touched_where_it_lies_stands_for_nothing(task: Path, how: str) -> None:
    write(task / "solution" / "solve.sh", SIGNED.replace("lit warm", "lit"))
    assert gates(task, "oracle")["oracle"]["status"] == "failed"
    (lamp, *_) = (home() / "checks").glob(f"embedded-{task.name}-*-oracle/*/artifacts/app/lamp.img")
    if how == "changed":
        lamp.write_text("switched lit warm")
    else:
        lamp.unlink()
    another_check(task, '"warm"')
    found = gates(task, "oracle")["oracle"]
    assert found["summary"] == "resolved 0 of 2 times", "both were built again"


@pytest.mark.needs("time")
def test_what_was_cut_off_is_built_again(task: Path) -> None:
    """An exploit that was under way when its gate was stopped has shown nothing."""
    seconds = f"5.{os.getpid():07}"  # no other program of this host sleeps for as long
    write(
        task / "exploits" / "slow.sh",
        f"#!/bin/sh\necho switched > /app/lamp.img\nsleep {seconds}\n",
    )
    with (task / "task.toml").open("a") as manifest:
        manifest.write(
            '[[metadata.benchflow.exploits]]\nscript = "slow"\nallowed = ["switched"]\n'
            'why = "so much is honest"\n'
        )
    command = [BENCHFLOW, "check", str(task), "--gate", "exploits"]
    with subprocess.Popen(command, preexec_fn=hear, stdout=subprocess.DEVNULL) as check:
        deadline = time.monotonic() + 120
        while not sleeps(seconds) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert sleeps(seconds), "the exploit was never under way"
        check.send_signal(signal.SIGINT)
    assert check.returncode == 130
    found = gates(task, "exploits")["exploits"]
    assert (found["status"], found["findings"]) == ("passed", [])


def sleeps(seconds: str) -> bool:
    wanted = f"sleep\0{seconds}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            if wanted in path.read_bytes():
                return True
    return False

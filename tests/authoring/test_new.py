"""A new task boots from the first minute, and `check` says what to do next."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lamp import lamp

from benchflow.authoring import static_gates
from benchflow.authoring.gate import Status
from benchflow.authoring.new import new
from benchflow.errors import UsageError
from benchflow.tasks import find, load

__all__ = ["lamp"]

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")


def test_it_loads_is_covered_and_says_what_is_missing(tmp_path: Path) -> None:
    task = new("embedded/switch", author='A. "Quick" Engineer', top=tmp_path)
    assert task.name == "embedded/switch"
    assert task.authors == ('A. "Quick" Engineer',)
    assert static_gates.coverage(task).status is Status.PASSED
    assert "3 milestones, 10 are asked for" in static_gates.schema(task.path).findings


def test_it_starts_from_another_task(lamp: Path, tmp_path: Path) -> None:
    task = new("embedded/lantern", like=load(lamp), author="B. Maker", top=tmp_path / "new")
    assert [m.id for m in task.milestones] == ["lit", "warm"]
    assert task.version == "0.1.0"
    assert task.authors == ("B. Maker", "A. Author")
    assert task.expert_minutes_basis == "a guess, from embedded/lamp: measure it"
    assert [exploit.why for exploit in task.exploits] == ["a painted lamp looks lit from afar"]


def test_nothing_is_overwritten_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    new("embedded/switch", top=tmp_path)
    with pytest.raises(UsageError, match="exists"):
        new("embedded/switch", top=tmp_path)
    for name in ("router", "a/b/c", "../x/y", "Embedded/Router"):
        with pytest.raises(UsageError, match="TOPIC/NAME"):
            new(name, top=tmp_path)


@pytest.mark.needs("sandbox", "mirror")
@pytest.mark.slow
def test_it_boots_and_its_gates_hold(tmp_path: Path) -> None:
    """The oracle resolves, nop gains nothing, the exploit what it declares, a rung is a rung."""
    task = new("embedded/switch", top=tmp_path)
    agents = ["oracle", "nop", "ladder:kernel", "ladder:shell", "exploit:printed-shell"]
    agents.append("variant:plain-initrd")
    command = [BENCHFLOW, "run", str(task.path), "--json", "--jobs-dir", str(tmp_path / "jobs")]
    for agent in agents:
        command += ["--agent", agent]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout, done.stderr[-3000:]
    (job,) = json.loads(done.stdout)["jobs"]
    passed = {
        trial["agent"]: [m["id"] for m in trial["milestones"] if m["status"] == "passed"]
        for trial in job["trials"]
    }
    assert passed == {
        "oracle": ["kernel", "shell", "greeting"],
        "nop": [],
        "ladder:kernel": ["kernel"],
        "ladder:shell": ["kernel", "shell"],
        "exploit:printed-shell": ["kernel"],
        "variant:plain-initrd": ["kernel", "shell", "greeting"],
    }
    assert find(str(task.path)).n_checks == 3

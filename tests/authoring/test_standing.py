"""The record of gates beside the tasks: written by check, shown by tasks, void after a change."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm_command
from tests.run import ours, plain

from benchflow.authoring.check import GATES
from benchflow.authoring.gate_record import standing
from benchflow.authoring.trials import Trials
from benchflow.base.home import home
from benchflow.run.live.progress import Silence
from benchflow.tasks import load

GAIN = """[[metadata.benchflow.exploits]]
script = "forge"
allowed = ["one"]
why = "it writes the first word too"
"""
ALL = len(GATES)
BENCHFLOW = str(Path(sys.executable).parent / "benchflow")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    ours.words(tmp_path / "tasks")
    return tmp_path / "tasks"


def benchflow(top: Path, *arguments: str, at: str = "") -> subprocess.CompletedProcess[str]:
    # A home of its own: what other runs remember of an equal task is not known here.
    own = {"BENCHFLOW_TASKS": str(top), "BENCHFLOW_HOME": at or f"{top}.home"}
    return warm_command.run(arguments, env={**os.environ, **own})


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Path]:
    """A catalogue whose task nobody has met, to be tried in the usual home: images are there."""
    weight = f"weight={int.from_bytes(os.urandom(6))}e-14"
    ours.words(tmp_path / "tasks", checks=ours.CHECKS.replace("weight=2", weight))
    yield tmp_path / "tasks"
    key = Trials(load(tmp_path / "tasks/test/words"), Silence()).key
    for path in (home() / "checks").glob(f"test-words-{key}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def state(top: Path) -> str:
    (listed,) = json.loads(benchflow(top, "tasks", "--json").stdout)["tasks"]
    gates, *reviews = str(listed["state"]).split("; ")
    assert reviews == ["none at this version"]
    return gates


@pytest.mark.needs("time")
def test_what_passed_is_recorded_until_the_task_changes(top: Path) -> None:
    assert state(top) == "no gates recorded"
    call = ("check", "test/words", "--gate", "coverage", "--record")
    done = benchflow(top, *call)
    assert done.returncode == 0, done.stderr
    assert state(top) == f"1 of {ALL}"
    benchflow(top, "check", "test/words", "--gate", "schema", "--record")
    assert state(top) == f"1 of {ALL}, failed: schema"
    (entry,) = json.loads((top / "gates.json").read_text())["tasks"].values()
    assert list(entry["gates"]) == ["schema", "coverage"]
    checks = top / "test/words/tests/checks.py"
    text = checks.read_text()
    checks.write_text(f"# The same.\n{text}")
    assert state(top) == f"0 of {ALL}", "what reads the files as they stand is due"
    checks.write_text(text.replace("weight=2", "weight=3"))
    assert state(top) == f"0 of {ALL} (tests/checks changed)"
    benchflow(top, *call)
    assert state(top) == f"1 of {ALL}"


@pytest.mark.needs("sandbox")
def test_what_no_trial_reads_makes_no_trial_due(odd: Path) -> None:
    call = ("check", "test/words", "--gate", "coverage", "--gate", "nop", "--record")

    def results() -> dict[str, bool]:
        told = benchflow(odd, *call, "--json", at=str(home())).stdout
        return {each["gate"]: each["cached"] for each in json.loads(told)["tasks"]["test/words"]}

    assert results() == {"coverage": False, "nop": False}
    folder = odd / "test" / "words"
    (folder / "instruction.md").write_text("[R1] one [R2] two [R3] three\n")
    config = folder / "task.toml"
    config.write_text(config.read_text().replace("expert_minutes = 1", "expert_minutes = 2"))
    checks = folder / "tests/checks.py"
    checks.write_text(checks.read_text() + "\n# Nothing else.\n")
    assert state(odd) == f"1 of {ALL}"
    assert results() == {"coverage": False, "nop": True}
    # A job that was cut off holds in meaning, and cannot be resumed: its task is another by now.
    key = Trials(load(folder), Silence()).key
    kept = home() / "checks" / f"test-words-{key}-nop"
    (cut_off,) = kept.glob("*/result.json")
    cut_off.unlink()
    kept.with_name(f"{kept.name}.json").unlink()
    assert results() == {"coverage": True, "nop": False}
    assert kept.with_name(f"{kept.name}.1").is_dir(), "what was cut off stays as evidence"


@pytest.mark.needs("time")
def test_an_older_run_does_not_replace_a_newer_one(top: Path) -> None:
    call = ("check", "test/words", "--gate", "coverage", "--record")
    benchflow(top, *call)
    path = top / "gates.json"
    record = json.loads(path.read_text())
    (entry,) = record["tasks"].values()
    for moment, wanted in (("2999-01-01T00:00:00+00:00", 0), ("2001-01-01", 1)):
        entry["gates"]["coverage"] |= {"status": "failed", "recorded": moment}
        path.write_text(json.dumps(record))
        assert benchflow(top, *call).returncode == 0
        assert state(top).startswith(f"{wanted} of {ALL}")


@pytest.mark.needs("time")
def test_due_gates_are_those_that_are_not_recorded_as_passed(top: Path) -> None:
    def ran(*gates: str) -> list[str]:
        asked = [word for gate in gates for word in ("--gate", gate)]
        told = benchflow(top, "check", "test/words", *asked, "--due", "--record", "--json").stdout
        return [result["gate"] for result in json.loads(told)["tasks"]["test/words"]]

    assert ran("coverage") == ["coverage"]
    assert ran("coverage", "schema") == ["schema"], "what passed is not run again"
    assert ran("coverage", "schema") == ["schema"], "what failed is still due"
    assert state(top) == f"1 of {ALL}, failed: schema"
    told = benchflow(top, "check", "test/words", "--gate", "coverage", "--due").stdout
    assert "1 of 1 gates recorded as passed" in told
    (top / "test" / "words" / "instruction.md").write_text("[R1] one [R2] two [R3] three\n")
    assert ran("coverage") == ["coverage"], "of another task"


def test_each_gate_is_recorded_as_it_is_known(top: Path) -> None:
    """A machine that dies in a long gate has lost that one alone."""
    nothing = {**os.environ, "BENCHFLOW_TASKS": str(top), "BENCHFLOW_HOME": f"{top}.home"}
    check = subprocess.Popen(
        [BENCHFLOW, "check", "test/words", "--gate", "coverage", "--gate", "oracle", "--record"],
        stdout=subprocess.PIPE,
        text=True,
        env=nothing,
        start_new_session=True,
    )
    assert check.stdout
    for line in check.stdout:
        if "coverage" in line:
            break
    os.killpg(check.pid, signal.SIGKILL)
    check.wait()
    check.stdout.close()
    assert state(top) == f"1 of {ALL}"


def test_two_may_record_at_once(top: Path) -> None:
    ours.words(top.parent / "other")
    shutil.move(top.parent / "other/test/words", top / "test/verbs")
    config = top / "test/verbs/task.toml"
    config.write_text(
        config.read_text()
        .replace('"words"', '"verbs"')
        .replace("benchflow/words", "benchflow/verbs")
    )
    calls = [
        subprocess.Popen(
            [BENCHFLOW, "check", f"test/{name}", "--gate", "coverage", "--record"],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "BENCHFLOW_TASKS": str(top), "BENCHFLOW_HOME": f"{top}.home"},
        )
        for name in ("words", "verbs")
    ]
    assert [call.wait() for call in calls] == [0, 0]
    assert len(json.loads((top / "gates.json").read_text())["tasks"]) == 2


def test_a_record_of_an_earlier_verifier_says_so_and_counts_for_nothing(top: Path) -> None:
    benchflow(top, "check", "test/words", "--gate", "coverage", "--record")
    path = top / "gates.json"
    record = json.loads(path.read_text())
    (entry,) = record["tasks"].values()
    entry["meaning"]["boot/verify"] = "0" * 8
    path.write_text(json.dumps(record))
    told = f"0 of {ALL} (1 lapsed: boot/verify changed)"
    assert state(top) == told
    known = standing(load(top / "test" / "words"))
    assert known is not None and known.good == 0
    checks = top / "test/words/tests/checks.py"
    checks.write_text(checks.read_text().replace("weight=2", "weight=3"))
    assert state(top) == f"0 of {ALL} (tests/checks changed)"


def test_the_common_exploits_are_those_of_the_record(top: Path) -> None:
    benchflow(top, "check", "test/words", "--gate", "coverage", "--record")
    path = top / "gates.json"
    record = json.loads(path.read_text())
    (entry,) = record["tasks"].values()
    entry["gates"]["corpus"] = {**entry["gates"]["coverage"], "gate": "corpus"}
    path.write_text(json.dumps(record))
    assert state(top) == f"2 of {ALL}"
    entry["corpus"] = "0" * 8
    path.write_text(json.dumps(record))
    assert state(top) == f"1 of {ALL}"


@pytest.mark.needs("time")
def test_a_changed_exploit_makes_what_is_about_exploits_due_and_no_other_gate(top: Path) -> None:
    calls = ("check", "test/words", "--gate", "coverage", "--gate", "leaks", "--record")
    assert benchflow(top, *calls).returncode == 0
    assert state(top) == f"2 of {ALL}"
    (top / "test" / "words" / "exploits" / "forge.sh").write_text("echo forged\n")
    assert state(top) == f"1 of {ALL}"
    results = json.loads(benchflow(top, *calls, "--json").stdout)["tasks"]["test/words"]
    assert {each["gate"]: each["cached"] for each in results} == {"coverage": True, "leaks": False}
    assert state(top) == f"2 of {ALL}"


def test_a_new_variant_makes_what_reads_it_due_and_no_other_gate(top: Path) -> None:
    """The record of a task without variants, written before there were any, holds until then."""
    gates = ("coverage", "leaks", "schema")
    calls = ("check", "test/words", *(word for gate in gates for word in ("--gate", gate)))
    benchflow(top, *calls, "--record")
    path = top / "gates.json"
    record = json.loads(path.read_text())
    (entry,) = record["tasks"].values()
    assert entry.pop("variants") == ""
    path.write_text(json.dumps(record))
    assert state(top).startswith(f"2 of {ALL}")
    script = top / "test" / "words" / "variants" / "other.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n# In another order.\necho one two three > /app/out/words.txt\n")
    assert state(top).startswith(f"1 of {ALL}")
    told = json.loads(benchflow(top, *calls, "--record", "--json").stdout)["tasks"]["test/words"]
    cached = {each["gate"]: each["cached"] for each in told}
    assert cached == {"schema": True, "coverage": True, "leaks": False}
    assert state(top).startswith(f"2 of {ALL}")


def test_declared_gains_are_those_of_the_record(top: Path) -> None:
    folder = top / "test" / "words"
    assert benchflow(top, "check", "test/words", "--gate", "coverage", "--record").returncode == 0
    path = top / "gates.json"
    record = json.loads(path.read_text())
    (entry,) = record["tasks"].values()
    entry["gates"]["exploits"] = {**entry["gates"]["coverage"], "gate": "exploits"}
    path.write_text(json.dumps(record))
    assert state(top) == f"2 of {ALL}"
    with (folder / "task.toml").open("a") as file:  # its key is the same
        file.write(GAIN)
    assert state(top) == f"1 of {ALL}"


def test_a_record_that_is_cut_off_is_named(top: Path) -> None:
    benchflow(top, "check", "test/words", "--gate", "coverage", "--record")
    record = top / "gates.json"
    record.write_text(record.read_text()[:-20])
    done = benchflow(top, "tasks")
    assert done.returncode == 2
    assert str(record) in done.stderr and "check TASK --record" in done.stderr


def test_a_task_outside_a_catalogue_has_no_record(top: Path) -> None:
    elsewhere = plain.separate(top.parent / "mine")
    done = benchflow(top, "check", str(elsewhere), "--gate", "offline", "--record")
    assert done.returncode == 2
    assert "is not in a catalogue" in done.stderr
    assert not list(top.parent.rglob("gates.json"))

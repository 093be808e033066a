"""Two hosts come to the same ladders, or the gate says where they do not, or what is missing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.run import ours
from tests.run.plain import benchflow, gates

from benchflow.authoring import second_host
from benchflow.authoring.gate import Status
from benchflow.authoring.second_host import Entry, merged, verdict
from benchflow.base.home import home
from benchflow.errors import UsageError
from benchflow.tasks import Task, load
from benchflow.tasks.stage import stage, verifier_on

WHOLE = (("one", "passed"), ("two", "passed"), ("three", "passed"))
HALF = (("one", "passed"), ("two", "passed"), ("three", "failed"))
ENTRY = Entry(
    task="test/words",
    key="k",
    host="aaaa",
    qemu="7.2",
    ladders=(("ladder:two", HALF), ("oracle", WHOLE)),
    recorded="2026-01-01T00:00:00+00:00",
)
OTHER = replace(ENTRY, host="bbbb")


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Task]:
    """A task that nobody else has, so that nothing is remembered of it."""
    folder = ours.words(tmp_path / "tasks")
    name = f"words-{uuid.uuid4().hex[:8]}"
    mine = folder.with_name(name)
    folder.rename(mine)
    config = mine / "task.toml"
    text = config.read_text().replace("benchflow/words", f"benchflow/{name}")
    config.write_text(text.replace('name = "words"', f'name = "{name}"'))
    yield load(mine)
    second_host.write(
        home() / "checks" / second_host.FILE,
        [e for e in second_host.read(home() / "checks" / second_host.FILE) if name not in e.task],
    )


@pytest.fixture
def words(tmp_path: Path) -> Task:
    return load(ours.words(tmp_path))


def test_one_host_is_open_and_says_what_is_missing(words: Task) -> None:
    found = verdict(words, "k", [ENTRY])
    assert (found.status, found.summary) == (Status.OPEN, "1 of 2 hosts recorded")
    assert found.findings[0] == "recorded: aaaa, QEMU 7.2"
    assert "--release trixie" in found.findings[1]
    assert verdict(words, "k", []).status is Status.OPEN


def test_two_that_agree_pass_be_it_one_machine_with_two_qemus(words: Task) -> None:
    assert verdict(words, "k", [ENTRY, OTHER]).status is Status.PASSED
    newer = replace(ENTRY, qemu="10.0")
    found = verdict(words, "k", [ENTRY, newer])
    assert (found.status, found.summary) == (Status.PASSED, "aaaa, QEMU 10.0; aaaa, QEMU 7.2")


def test_a_milestone_that_differs_is_named(words: Task) -> None:
    early = (("one", "passed"), ("two", "failed"), ("three", "not reached"))
    other = replace(OTHER, ladders=(("ladder:two", early), ("oracle", WHOLE)))
    found = verdict(words, "k", [ENTRY, other])
    assert found.status is Status.FAILED
    assert found.findings == ("ladder:two: aaaa, QEMU 7.2 and bbbb, QEMU 7.2 differ at three, two",)


def test_one_host_that_says_two_things_fails_alone(words: Task) -> None:
    again = replace(ENTRY, ladders=(("ladder:two", WHOLE), ("oracle", WHOLE)))
    found = verdict(words, "k", [ENTRY, again])
    assert found.status is Status.FAILED
    assert "aaaa, QEMU 7.2: ladder:two resolves the task" in found.findings


def test_ladders_that_are_equal_and_prove_nothing_fail(words: Task) -> None:
    broken = (("ladder:two", HALF), ("oracle", HALF))
    found = verdict(words, "k", [replace(ENTRY, ladders=broken), replace(OTHER, ladders=broken)])
    assert found.status is Status.FAILED
    assert found.findings[0] == "aaaa, QEMU 7.2: oracle does not resolve the task"


def test_what_another_task_or_verifier_came_to_does_not_count(words: Task) -> None:
    assert verdict(words, "k", [ENTRY, replace(OTHER, key="old")]).status is Status.OPEN
    assert verdict(words, "k", [ENTRY, replace(OTHER, task="test/other")]).status is Status.OPEN


def test_merging_is_a_union_in_any_order_and_can_be_repeated(tmp_path: Path) -> None:
    later = replace(ENTRY, recorded="2026-02-01T00:00:00+00:00", speed=0.5)
    assert merged([later, OTHER], [ENTRY]) == merged([ENTRY], [OTHER, later]) == [ENTRY, OTHER]
    assert merged(merged([ENTRY, OTHER]), [OTHER]) == [ENTRY, OTHER]
    second_host.write(tmp_path / "hosts.json", [ENTRY, OTHER])
    assert second_host.read(tmp_path / "hosts.json") == [ENTRY, OTHER]
    assert second_host.read(tmp_path / "none.json") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 7}'])
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "hosts.json").write_text(text)
    with pytest.raises(UsageError):
        second_host.read(tmp_path / "hosts.json")


def test_a_verifier_of_another_release_differs_in_its_base_alone(words: Task) -> None:
    tests = stage(words).folder / "tests"
    other = verifier_on(tests, "trixie")
    before, after = ((each / "Dockerfile").read_text() for each in (tests, other))
    assert after == before.replace("debian:bookworm", "debian:trixie") != before
    names = {path.name for path in tests.iterdir()}
    assert {path.name for path in other.iterdir()} == names
    assert verifier_on(tests, "trixie") == other
    assert verifier_on(tests, "bookworm") == tests
    for wrong in ("../x", "debian:12", ""):
        with pytest.raises(UsageError):
            verifier_on(tests, wrong)


@pytest.mark.needs("sandbox")
def test_the_gate_verifies_here_and_takes_another_machines_record(
    task: Task, tmp_path: Path
) -> None:
    found = gates(task.path, "second-host")["second-host"]
    assert (found["status"], found["summary"]) == ("open", "1 of 2 hosts recorded")
    benchflow("check", str(task.path), "--gate", "second-host", "--record", cwd=tmp_path, status=0)
    record = json.loads((task.path.parents[1] / "hosts.json").read_text())
    [own] = record["hosts"]
    assert own["ladders"]["oracle"] == {"one": "passed", "two": "passed", "three": "passed"}
    assert own["ladders"]["ladder:two"]["three"] == "failed"
    there = tmp_path / "there.json"
    record["hosts"][0]["host"] = "0123456789ab"
    there.write_text(json.dumps(record))
    asked = ("check", str(task.path), "--gate", "second-host", "--json", "--hosts", str(there))
    done = json.loads(benchflow(*asked, cwd=tmp_path, status=0).stdout)
    [[result]] = done["tasks"].values()
    assert result["status"] == "passed"
    assert "0123456789ab" in result["summary"]
    record["hosts"][0]["host"] = "ba9876543210"
    record["hosts"][0]["ladders"]["oracle"]["three"] = "failed"
    there.write_text(json.dumps(record))
    done = json.loads(benchflow(*asked, cwd=tmp_path, status=1).stdout)
    [[result]] = done["tasks"].values()
    assert result["status"] == "failed"
    assert any("differ at three" in finding for finding in result["findings"])


def test_no_record_of_gates_waits_for_it() -> None:
    from benchflow.authoring.check import GATES, ON_DEMAND

    assert second_host.GATE in ON_DEMAND
    assert not set(GATES) & set(ON_DEMAND)


def test_what_is_of_this_gate_alone_is_refused_with_others(words: Task, tmp_path: Path) -> None:
    done = benchflow(
        "check", str(words.path), "--fast", "--release", "trixie", cwd=tmp_path, status=2
    )
    assert "--gate second-host" in done.stderr


OF_RELEASE = """
from pathlib import Path
from benchflow.boot import milestone

@milestone("one", proves=["R1", "R2", "R3"])
def test_release(deliverable):
    assert deliverable().read_text().strip() in Path("/etc/os-release").read_text()
"""


@pytest.mark.slow
@pytest.mark.needs("sandbox")
def test_a_deliverable_is_verified_by_another_release(tmp_path: Path) -> None:
    ours.words(tmp_path, checks=OF_RELEASE)
    (tmp_path / "name").write_text("trixie\n")
    asked = ("verify", "test/words", "name")
    benchflow(*asked, "--release", "trixie", cwd=tmp_path, status=0)
    benchflow(*asked, cwd=tmp_path, status=1)

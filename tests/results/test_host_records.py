"""What is read of a trial's machine, whoever wrote it, and where it can be seen."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from jobfolders import trial

from benchflow.results.collect import collect
from benchflow.results.index import export
from benchflow.results.jobs.trials import read_job, read_trial
from benchflow.results.model import Host

RECORD: dict[str, Any] = {
    "schema": 1,
    "id": "0123456789ab",
    "cores": 8,
    "cpu": "A Processor",
    "flags": "fpu sse",
    "kernel": "6.1.0",
    "before": {"speed": 0.9, "load": 1.0},
    "after": {"speed": 0.7, "load": 4.0},
    "steal": 0.02,
}
VERIFIER = {"speed": 0.8, "accelerator": "tcg", "qemu": "7.2.22"}


def finished(job: Path, name: str = "t__1", record: object = RECORD, verifier: object = VERIFIER):
    folder = trial(job, name, rewards={"reward": 1.0, "resolved": 1.0}, milestones=[])
    (folder / "host.json").write_text(record if isinstance(record, str) else json.dumps(record))
    path = folder / "verifier" / "milestones.json"
    path.write_text(json.dumps({"schema": 1, "milestones": [], "host": verifier}))
    return folder


def test_a_host_is_the_machine_and_the_verifiers_qemu(tmp_path: Path) -> None:
    found, problems = read_trial(finished(tmp_path))
    assert problems == []
    assert found.host.name == "0123456789ab, QEMU 7.2.22"
    assert (found.host.speed, found.host.speed_before, found.host.speed_after) == (0.8, 0.9, 0.7)
    assert (found.host.load_after, found.host.steal, found.host.cores) == (4.0, 0.02, 8)
    assert len(found.host.flags) == 8


def test_flags_in_another_order_are_the_same(tmp_path: Path) -> None:
    one, _ = read_trial(finished(tmp_path, "t__1"))
    turned, _ = read_trial(finished(tmp_path, "t__2", {**RECORD, "flags": "sse fpu"}))
    other, _ = read_trial(finished(tmp_path, "t__3", {**RECORD, "flags": "sse fpu avx"}))
    assert one.host.flags == turned.host.flags != other.host.flags


def test_a_trial_without_a_record_says_nothing_of_its_machine(tmp_path: Path) -> None:
    found, problems = read_trial(trial(tmp_path, rewards={"reward": 0.0}))
    assert (found.host, found.host.name, problems) == (Host(), "", [])


@pytest.mark.parametrize("record", ["{", '"text"', "[" * 100_000, json.dumps({"id": "x" * 70_000})])
def test_a_torn_or_huge_record_is_named_and_the_trial_stays(tmp_path: Path, record: str) -> None:
    found, problems = read_trial(finished(tmp_path, record=record))
    assert found.host.id == ""
    assert found.host.qemu == "7.2.22"
    assert [problem.path.name for problem in problems] == ["host.json"]


def test_hostile_values_are_no_values(tmp_path: Path) -> None:
    hostile = {
        "id": "\x1b[31mred\x1b[0m\n" + "y" * 500,
        "cores": -4,
        "cpu": ["a"],
        "before": "soon",
        "after": {"speed": "fast", "load": -1},
        "steal": True,
    }
    folder = finished(tmp_path, record=hostile, verifier={"speed": -1, "qemu": {"a": 1}})
    host = read_trial(folder)[0].host
    assert "\x1b" not in host.id
    assert "\n" not in host.id
    assert len(host.id) <= 40
    assert host == Host(id=host.id)


def test_the_export_has_the_machine_of_each_trial(tmp_path: Path) -> None:
    job = tmp_path / "job"
    finished(job)
    trial(job, "t__2", rewards={"reward": 0.0})
    (job / "result.json").write_text(json.dumps({"n_total_trials": 2}))
    assert {t.host.id for t in read_job(job).trials} == {"0123456789ab", ""}
    export(collect([job]), tmp_path / "out")
    with (tmp_path / "out" / "trials.csv").open(newline="") as file:
        rows = {row["trial"]: row for row in csv.DictReader(file)}
    known = rows["t__1"]
    assert (known["host"], known["host_qemu"], known["host_speed"]) == (
        "0123456789ab", "7.2.22", "0.8",
    )  # fmt: skip
    assert (rows["t__2"]["host"], rows["t__2"]["host_speed"]) == ("", "")


def test_a_list_of_trials_may_name_the_machine(tmp_path: Path) -> None:
    line = {
        "agent": "a",
        "task": "t",
        "trial": "1",
        "resolved": True,
        "host": {"id": "ab", "qemu": "10.0", "steal": 0.5},
    }
    (tmp_path / "list.jsonl").write_text(json.dumps(line) + "\n")
    [record] = collect([tmp_path / "list.jsonl"]).records
    assert (record.host.name, record.host.steal) == ("ab, QEMU 10.0", 0.5)

"""A datasheet says what the records say, and that there is none where there is none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.lamp import lamp

from benchflow.authoring import gate_record
from benchflow.authoring.check import GATES
from benchflow.authoring.publish import dataset
from benchflow.authoring.publish.datasheet import datasheet
from benchflow.tasks import Task, find, load

__all__ = ["lamp"]
FIRST = Path(__file__).parents[2] / "results/2026-11-first-attempts.jsonl"


@pytest.fixture
def task(lamp: Path, tmp_path: Path) -> Task:
    return load(Path(shutil.copytree(lamp, tmp_path / "repository/tasks/embedded/lamp")))


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_what_nobody_has_proved_is_said_to_be_unproved(task: Task) -> None:
    text = datasheet(task)
    proved = section(text, "What is proved")
    assert "No gates are recorded" in proved
    assert proved.count("not proved: no record") == len(GATES)
    assert "None." in section(text, "Measured trials")
    assert "None." in section(text, "Variants")
    assert "| painted | lit | a painted lamp looks lit from afar |" in section(
        text, "Exploits tried"
    )


@pytest.mark.needs("time")
def test_every_line_of_the_gates_is_what_is_recorded() -> None:
    for task in map(find, ("repair/dead-server", "embedded/locked-down")):
        proved = section(datasheet(task), "What is proved")
        found = gate_record.standing(task)
        days = gate_record.dates(task)
        for gate in GATES:
            (line,) = (row for row in proved.splitlines() if row.startswith(f"| {gate} |"))
            assert f"`benchflow check --gate {gate} {task.name}`" in line
            result = found.gates.get(gate) if found else None
            assert ("no record" in line) == (result is None)
            if result and found:
                assert days[gate] in line
                assert (f"| {result.status} |" in line) == (not found.stale)


def test_measured_trials_of_this_task_and_their_hostile_names(task: Task) -> None:
    folder = task.path.parents[2] / "results"
    folder.mkdir()
    lines = [json.loads(line) for line in FIRST.read_text().splitlines()[:2]]
    lines[0] |= {"task": "embedded/lamp", "agent": "a|b\x1b[31m<script>", "task_version": "1.0.0"}
    (folder / "first.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    trials = section(datasheet(task), "Measured trials")
    rows = [row for row in trials.splitlines() if row.startswith("| 1.0.0 |")]
    assert len(rows) == 1 and "| a\\|b&lt;script> |" in rows[0] and "| resolved | 1.00 |" in rows[0]
    assert "oci-base" not in trials and "\x1b" not in trials


def test_a_sheet_changes_with_its_records(task: Task) -> None:
    assert "0 attempts" in datasheet(task)
    (task.path / "reviews.toml").write_text(
        '[[attempt]]\nversion = "1.0.0"\ndate = 2026-11-27\nwho = "somebody else"\n'
        'verdict = "resolved"\nreward = 1.0\nminutes = 3\ncalls = 4\n'
    )
    assert "| 1.0.0 | 2026-11-27 | attempt | resolved, 3 min, 4 commands |" in datasheet(task)


def test_an_export_has_it_and_is_the_same_twice(task: Task, tmp_path: Path) -> None:
    (folder,) = dataset.write([task], tmp_path / "out").folders
    assert (folder / "DATASHEET.md").read_text() == datasheet(task)
    assert dataset.write([task], tmp_path / "out").folders == [folder]


def test_a_verdict_that_later_checks_gave_names_both_versions() -> None:
    text = datasheet(find("own/kernel"))
    both = ("1.1.0, verified again at 1.1.1", "1.1.1, verified again at 1.1.2")
    for versions in both:
        assert f"| {versions} | 2026-11-28 | attempt |" in section(text, "Attempts and attacks")
        assert f"| {versions} | external |" in section(text, "Measured trials")

"""What verbs print with --json has the keys that docs/reference/json.md says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchflow.cli.app import benchflow
from benchflow.reference.json_shapes import DOCUMENTS, keys_of
from benchflow.results.synthetic import Design, write_job

ROOT = Path(__file__).parents[2]


def printed(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(benchflow, [*arguments, "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("schema") == 1
    assert "error" not in found, found
    return found


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("tasks", ["tasks"]),
        ("tasks show", ["tasks", "show", "repair/dead-server"]),
        ("tasks validate", ["tasks", "validate", "repair/dead-server"]),
        ("tasks export", ["tasks", "export", "{tmp}/out", "repair/dead-server"]),
        ("check --matrix", ["check", "repair/dead-server", "--matrix"]),
        ("review", ["review", "repair/dead-server"]),
        ("rate people", ["rate", "people", str(ROOT / "tests/people/people.csv")]),
        ("rate pack", ["rate", "pack", "repair/dead-server", "-o", "{tmp}/pack"]),
        ("agents", ["agents"]),
        ("export", ["export", str(ROOT / "results"), "-o", "{tmp}/table"]),
    ],
)
def test_a_verb_prints_the_keys_that_the_page_has(
    verb: str, arguments: list[str], tmp_path: Path
) -> None:
    found = printed(*(part.replace("{tmp}", str(tmp_path)) for part in arguments))
    assert set(found) == set(DOCUMENTS[verb])


def test_tasks_and_their_parts_have_the_keys_of_their_types() -> None:
    task = printed("tasks", "show", "repair/dead-server")["task"]
    assert set(task) == keys_of("Task")
    milestone = task["milestones"][0]
    assert set(milestone) == keys_of("MilestoneSpec")
    assert set(milestone["checks"][0]) == keys_of("CheckSpec")
    assert set(task["deliverables"][0]) == keys_of("Deliverable")
    assert set(task["exploits"][0]) == keys_of("Exploit")
    assert set(task["variants"][0]) == keys_of("Variant")
    [listed, *_] = printed("tasks")["tasks"]
    assert set(listed) == keys_of("Task") | {"state"}


def test_jobs_and_their_trials_have_the_keys_of_their_types(tmp_path: Path) -> None:
    write_job(tmp_path / "synthetic", Design(agents=1, tasks=1, attempts=1, consoles=False))
    found = printed("results", str(tmp_path / "synthetic"))
    assert set(found) == set(DOCUMENTS["run, resume, results"])
    [job] = found["jobs"]
    assert set(job) == keys_of("Job")
    [trial] = job["trials"]
    assert set(trial) == keys_of("Trial")
    assert set(trial["milestones"][0]) == keys_of("Milestone")
    assert set(trial["milestones"][0]["checks"][0]) == keys_of("Check")
    assert set(trial["phases"]) == keys_of("Phases")
    assert set(trial["usage"]) == keys_of("Usage")

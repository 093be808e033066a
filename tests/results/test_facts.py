"""A job's own record is enough to say what its tasks were."""

from __future__ import annotations

import json
from pathlib import Path

from benchflow.results.jobs import task_facts
from benchflow.run.job import job_record
from benchflow.tasks import Staged, load

TASK = Path(__file__).parents[2] / "tasks" / "repair" / "dead-server"


def test_topic_skills_and_minutes_need_no_task_folder(tmp_path: Path) -> None:
    task = load(TASK)
    written = job_record.task(Staged(task, Path("/gone"), hint=1))
    assert written["milestones"] == [milestone.id for milestone in task.milestones]
    (tmp_path / "benchflow.json").write_text(json.dumps({"schema": 1, "tasks": [written]}))
    known, problems = task_facts.of_job(tmp_path)
    assert problems == []
    found = task_facts.complete(known["/gone"], "/gone")
    assert (found.name, found.version, found.hint) == ("repair/dead-server", task.version, 1)
    assert found.topic == task.topic and found.skills == task.skills
    assert found.expert_minutes == task.expert_minutes > 0


def test_a_task_without_them_is_not_recorded_as_taking_no_time(tmp_path: Path) -> None:
    task = load(TASK)
    plain = type(task)(task.path, "plain", "", "d", is_benchflow=False)
    written = job_record.task(Staged(plain, Path("/gone")))
    assert written["expert_minutes"] is None and written["skills"] == []

"""Writes job folders as Harbor does, for tests that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def trial(
    job: Path,
    name: str = "task__abc",
    *,
    rewards: dict[str, float] | None = None,
    exception: str = "",
    milestones: list[dict[str, Any]] | None = None,
    agent: str = "oracle",
    **more: Any,
) -> Path:
    """A finished trial; `exception` is the class name of what ended it."""
    folder = job / name
    (folder / "verifier").mkdir(parents=True)
    (folder / "trial.log").write_text("log\n")
    record: dict[str, Any] = {
        "trial_name": name,
        "task_name": "benchflow/task",
        "agent_info": {"name": agent, "version": "1", "model_info": None},
        "config": {"task": {"path": "/staged/task"}},
        "verifier_result": None if rewards is None else {"rewards": rewards},
        "exception_info": None,
        "started_at": "2026-01-01T10:00:00Z",
        "finished_at": "2026-01-01T10:01:30Z",
        "agent_execution": {
            "started_at": "2026-01-01T10:00:01Z",
            "finished_at": "2026-01-01T10:00:31Z",
        },
        "verifier": {"started_at": "2026-01-01T10:00:33Z", "finished_at": "2026-01-01T10:01:29Z"},
        **more,
    }
    if exception:
        record["exception_info"] = {
            "exception_type": exception,
            "exception_message": f"{exception} happened",
        }
    (folder / "result.json").write_text(json.dumps(record))
    if milestones is not None:
        (folder / "verifier" / "milestones.json").write_text(
            json.dumps({"schema": 1, "milestones": milestones})
        )
    return folder

"""What one script of a task delivered, before anybody judged it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from benchflow.results.jobs.script_end import script_end
from benchflow.results.jobs.trials import is_built
from benchflow.results.model import Trial
from benchflow.tasks import Task


@dataclass(frozen=True)
class Built:
    """`given`: the task's deliverable paths → files here, as far as they were delivered. `ended`:
    how its script ended that did not end well. `lost`: why it is not known what it builds."""

    trial: Trial
    given: dict[str, Path]
    ended: str = ""
    lost: str = ""

    @classmethod
    def of(cls, task: Task, trial: Trial, kept: Path | None = None) -> Built:
        """What `trial` delivered; what lies in `kept` was delivered by a script that ended well."""
        given = delivered(task, kept or trial.path / "artifacts")
        if kept is not None:
            return cls(trial, given)
        if not is_built(trial):
            return cls(trial, given, lost=f"{trial.cause}: {trial.cause_message[:200]}")
        return cls(trial, given, ended=script_end(trial) or trial.exception)


def delivered(task: Task, top: Path) -> dict[str, Path]:
    """Deliverables of `task` that lie below `top` at their own paths, be it a link to nowhere."""
    files = {d.path: top / d.path.lstrip("/") for d in task.deliverables}
    return {path: file for path, file in files.items() if os.path.lexists(file)}

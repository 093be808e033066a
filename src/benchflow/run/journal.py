"""The journal of a job, `<job>/phases.jsonl`: which trial is in which phase, for who looks on.

One line an event, appended by the process that runs the job; nothing of a job depends on it.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from benchflow.run.board import TrialState

SCHEMA = 1
NAME = "phases.jsonl"


class Journal:
    """An open journal. A disk that takes no more costs the onlooker his view, and nobody else."""

    def __init__(self, job: Path) -> None:
        self._path = job / NAME

    def enter(self, trial: TrialState) -> None:
        """Write down the phase that `trial` has just entered."""
        record = {
            "schema": SCHEMA,
            "t": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "trial": trial.name,
            "phase": trial.phase.value,
            "limit": round(trial.limit, 3),
        }
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(record).encode() + b"\n")
        except OSError:
            return

"""What is known of the trials of a job while it runs; fed by the engine, shown by a listener."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from benchflow.results.jobs.progress_events import Phase
from benchflow.results.model import Trial


@dataclass
class TrialState:
    """One trial that was started. `limit`: seconds that the present phase may last, 0 for none.

    `ladder` maps milestone ids, in ladder order, to `passed`, `failed`, `not reached` or "" (not
    yet known). `note` is the last thing that the verifier did, in one line; `said` what it came
    to, where that is no trial's result.
    """

    name: str
    task: str
    agent: str
    phase: Phase = Phase.IMAGE
    started: float = field(default_factory=time.monotonic)
    phase_started: float = field(default_factory=time.monotonic)
    limit: float = 0.0
    ladder: dict[str, str] = field(default_factory=dict)
    note: str = ""
    said: str = ""
    result: Trial | None = None

    def enter(self, phase: Phase, limit: float = 0.0, since: datetime | None = None) -> None:
        """The trial moves to `phase`, which may last `limit` seconds; it did so at `since`, a
        time with its zone, or just now."""
        ago = (datetime.now(UTC) - since).total_seconds() if since and since.tzinfo else 0.0
        self.phase, self.limit = phase, limit
        self.phase_started = time.monotonic() - max(ago, 0.0)

    @property
    def elapsed(self) -> float:
        """Seconds in the present phase."""
        return time.monotonic() - self.phase_started


@dataclass
class Board:
    """All trials of a job. `planned` counts those that were finished before this run too; `job`
    is its folder, where it has one."""

    planned: int
    finished_before: int = 0
    job: Path | None = None
    trials: dict[str, TrialState] = field(default_factory=dict)

    @property
    def running(self) -> list[TrialState]:
        """Trials that are under way, in the order of their start."""
        return [t for t in self.trials.values() if t.phase is not Phase.DONE]

    @property
    def finished(self) -> int:
        """How many trials of the job are finished, earlier runs included."""
        return self.finished_before + len(self.trials) - len(self.running)


class Listener(Protocol):
    """Shows a board. Called from one thread; an exception of a listener ends the run."""

    def phase(self, board: Board, trial: TrialState) -> None:
        """`trial` has just entered `trial.phase`."""

    def milestone(self, board: Board, trial: TrialState, milestone: str) -> None:
        """`trial.ladder[milestone]` has just become known."""

    def tick(self, board: Board) -> None:
        """Some time (less than a second) has gone by."""


class Silence:
    """A listener that shows nothing."""

    def phase(self, board: Board, trial: TrialState) -> None:
        """Says nothing."""

    def milestone(self, board: Board, trial: TrialState, milestone: str) -> None:
        """Says nothing."""

    def tick(self, board: Board) -> None:
        """Says nothing."""

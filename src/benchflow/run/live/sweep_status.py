"""What a look at jobs shows: plain values, for a screen or a machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchflow.results.model import Verdict

_SLOWEST = 3


@dataclass
class Cell:
    """One task (with its hint level) and one agent with its model. `planned`: trials in all."""

    task: str
    who: str
    planned: int = 0
    resolved: int = 0
    failed: int = 0
    error: int = 0
    running: int = 0

    @property
    def finished(self) -> int:
        """Trials with a verdict."""
        return self.resolved + self.failed + self.error


@dataclass(frozen=True)
class Running:
    """A trial under way: its phase, since when (seconds) and for how long at most (0: no limit).

    `ladder`: statuses of the milestones that its verifier has come to so far.
    """

    name: str
    task: str
    who: str
    phase: str
    seconds: float | None
    limit: float
    ladder: tuple[str, ...] = ()
    note: str = ""
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True)
class Finished:
    """A trial that has ended. `message`: its cause in words."""

    name: str
    task: str
    who: str
    verdict: Verdict
    cause: str
    message: str
    seconds: float | None


@dataclass(frozen=True)
class Overview:
    """All of it. `errors`: how often each cause made a verdict of `error`, with one message.

    `is_running`: a process works on it. `cut_off`: trials that were begun, and have neither a
    verdict nor anybody who works on them. `unknown`: answers whose tokens or price are not known.
    """

    jobs: tuple[Path, ...]
    is_running: bool
    cells: tuple[Cell, ...]
    running: tuple[Running, ...]
    finished: tuple[Finished, ...]
    errors: dict[str, tuple[int, str]]
    planned: int
    cut_off: int
    tokens: int
    usd: float
    unknown: int

    @property
    def slowest(self) -> list[Finished]:
        """The finished trials that took longest, the longest first."""
        timed = [trial for trial in self.finished if trial.seconds is not None]
        return sorted(timed, key=lambda trial: -(trial.seconds or 0))[:_SLOWEST]

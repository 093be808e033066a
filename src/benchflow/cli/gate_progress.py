"""What a gate is at while it runs: one line that is redrawn on a terminal, else a line when a gate
begins and one for each trial that ended. On stderr: stdout has one line per gate."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TextIO

from benchflow.base.numbers import duration
from benchflow.base.text import one_line
from benchflow.cli.live import finished_line
from benchflow.results.jobs.progress_events import Phase
from benchflow.results.jobs.verdict import CANCELLED, NO_REWARD
from benchflow.run.live.progress import Board, TrialState

_CLEAR = "\r\x1b[2K"
_REDRAW_SECONDS = 0.5
_LONGEST_NAME = 40


class GateLine:
    """A listener of `check`. Its verifications run side by side, so it is called from threads."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._in_place = self._stream.isatty()
        self._lock = threading.Lock()
        self._gate = ""
        self._since = self._drawn = 0.0
        self._ended = 0
        self._running: dict[int, TrialState] = {}

    def begin(self, gate: str) -> None:
        """`gate` is run from now on."""
        with self._lock:
            self._gate, self._since, self._ended = gate, time.monotonic(), 0
            self._running.clear()
            if self._in_place:
                self._draw()
            else:
                self._write(f"  {'running':<14} {gate}\n")

    def clear(self) -> None:
        """Makes room for a line of somebody else's."""
        with self._lock:
            self._gate = ""
            if self._in_place:
                self._write(_CLEAR)

    def phase(self, board: Board, trial: TrialState) -> None:
        """Takes the trial up, or says what it came to."""
        with self._lock:
            if trial.phase is not Phase.DONE:
                self._running[id(trial)] = trial
                return
            self._running.pop(id(trial), None)
            self._ended += 1
            if not self._in_place:
                seconds = time.monotonic() - self._since
                said = f"{trial.task}  {_name(trial)}  {_came_to(trial)}"
                self._write(f"{seconds:9.1f} s  {said}\n")

    def milestone(self, board: Board, trial: TrialState, milestone: str) -> None:
        """Nothing to say: a gate has many."""

    def tick(self, board: Board) -> None:
        """Redraws, so that clocks run."""
        with self._lock:
            now = time.monotonic()
            if self._in_place and self._gate and now - self._drawn >= _REDRAW_SECONDS:
                self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        parts = [f"{self._ended} ended"] if self._ended else []
        parts += [
            f"{_name(trial)} {trial.phase.value} {duration(trial.elapsed)}"
            for trial in self._running.values()
        ]
        seconds = self._drawn - self._since
        line = f"  {'running':<14} {self._gate:<12} {seconds:7.1f} s  {'; '.join(parts)}"
        self._write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _came_to(trial: TrialState) -> str:
    """As for any trial, and what stopped it: of an exploit that is what one wants to know."""
    result = trial.result
    if result is None:
        return finished_line(trial)
    if CANCELLED in (result.cause, result.exception):
        return "stopped; it is run again"
    if result.cause == NO_REWARD and not result.exception:
        return f"built in {duration(result.phases.total)}"
    failed = next((each for each in result.milestones if each.first_failure), None)
    at = failed.first_failure if failed else None
    where = f", stopped at {failed.id} by {at.name}" if failed and at else ""
    return one_line(f"{finished_line(trial)}{where}", 300)


def _name(trial: TrialState) -> str:
    """The agent; of a file that is verified without one, the end of its path."""
    agent = one_line(trial.agent[-400:], 400)
    return agent if len(agent) <= _LONGEST_NAME else f"…{agent[1 - _LONGEST_NAME :]}"

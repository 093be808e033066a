"""Shows a running job: redrawn in place on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TextIO

from benchflow.base.numbers import duration, plural
from benchflow.cli.table import SIGNS, signs
from benchflow.results.jobs.progress_events import Phase
from benchflow.run.live.progress import Board, Listener, Silence, TrialState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from benchflow.run.live.job_status import Onlooker

#: With more trials than this, plain output has no line for a phase or a milestone.
_FEW = 4
#: After so long without a line, plain output says what it waits for.
_QUIET_SECONDS = 60.0
_LOOK_SECONDS = 1.0


@contextmanager
def display_alone(*, quiet: bool) -> Iterator[Listener]:
    """Like `display`, while what libraries print in this process goes to stderr: stdout is for what
    we say, and with --json for one document."""
    with display(quiet=quiet) as listener, redirect_stdout(sys.stderr):
        yield listener


@contextmanager
def display(*, quiet: bool, stream: TextIO | None = None) -> Iterator[Listener]:
    """The listener that suits the output: silent, live or plain."""
    stream = stream or sys.stdout
    if quiet:
        yield Silence()
    elif stream.isatty():
        with _Live(stream) as live:
            yield live
    else:
        yield Plain(stream)


class Plain:
    """A line when something happened, or nothing did for a minute. For logs, pipes and CI."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = self._said = time.monotonic()
        #: Attempts of one agent at one task, in the order of their start: from the second on they
        #: are numbered.
        self._made: dict[tuple[str, str], list[str]] = {}

    def phase(self, board: Board, trial: TrialState) -> None:
        """The trial's new phase, with the time that it may take."""
        if trial.phase is Phase.DONE:
            self._say(trial, finished_line(trial))
        elif board.planned <= _FEW:
            more = f" (limit {duration(trial.limit)})" if trial.limit else ""
            self._say(trial, f"{trial.phase.value}{more}")

    def milestone(self, board: Board, trial: TrialState, milestone: str) -> None:
        """The milestone and what became of it."""
        if board.planned <= _FEW:
            status = trial.ladder[milestone]
            self._say(trial, f"{SIGNS[status]} {milestone}: {status}")

    def tick(self, board: Board) -> None:
        """After a quiet minute, what each trial is at: else it looks as if all of it hung."""
        if board.planned > _FEW or time.monotonic() - self._said < _QUIET_SECONDS:
            return
        for trial in board.running:
            doing = "being built" if trial.phase is Phase.IMAGE else trial.note
            self._say(
                trial,
                f"… {trial.phase.value}, {duration(trial.elapsed)} so far"
                + (f": {doing}" if doing else ""),
            )
        self._said = time.monotonic()

    def _say(self, trial: TrialState, text: str) -> None:
        seconds = time.monotonic() - self._started
        made = self._made.setdefault((trial.task, trial.agent), [])
        if trial.name not in made:
            made.append(trial.name)
        number = made.index(trial.name) + 1
        who = f"{trial.agent} #{number}" if number > 1 else trial.agent
        self._said = time.monotonic()
        line = f"{seconds:7.1f} s  {trial.task}  {who}  {text}"
        print(line, file=self._stream, flush=True)


def finished_line(trial: TrialState) -> str:
    """What a finished trial came to, in one line."""
    result = trial.result
    if result is None:
        return trial.said or f"done, but {trial.note}"
    words = [result.verdict.value]
    if result.milestones:
        words.append(f"{result.n_passed}/{len(result.milestones)} milestones")
    if result.reward is not None:
        words.append(f"reward {result.reward:.2f}")
    if result.cause:
        words.append(result.cause)
    words.append(f"in {duration(result.phases.total)}")
    return ", ".join(words)


class _Live:
    """A panel under the lines of the finished trials: the ladder of a job's only trial, else the
    screen of the job or its sweep, which `benchflow watch` shows from elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False)
        # Drawn at each tick and not by a thread: the job's own process is forked from this one.
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._onlookers: dict[Path, Onlooker | None] = {}
        self._next_look = 0.0

    def __enter__(self) -> _Live:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def phase(self, board: Board, trial: TrialState) -> None:
        """Redraws; a finished trial leaves its line above the panel."""
        if trial.phase is Phase.DONE:
            from rich.text import Text

            self._console.print(Text(f"{trial.task}  {trial.agent}  {finished_line(trial)}"))
        self.tick(board)

    def milestone(self, board: Board, trial: TrialState, milestone: str) -> None:
        """Redraws."""
        self.tick(board)

    def tick(self, board: Board) -> None:
        """Redraws, so that clocks run."""
        height = self._console.height - 2
        onlooker = self._onlooker(board)
        if onlooker is None:
            self._live.update(panel(board, height), refresh=True)
        elif time.monotonic() >= self._next_look:
            from rich.text import Text

            from benchflow.cli.job_screen import screen

            text = Text(screen(onlooker.look(), height), no_wrap=True, overflow="ellipsis")
            self._live.update(text, refresh=True)
            self._next_look = time.monotonic() + _LOOK_SECONDS

    def _onlooker(self, board: Board) -> Onlooker | None:
        """Of the board's job; None where that is one trial alone, which has its ladder."""
        if board.job is None:
            return None
        if board.job not in self._onlookers:
            from benchflow.run.live.job_status import of_job

            found = of_job(board.job)
            alone = board.planned == 1 and not found.is_of_sweep
            self._onlookers[board.job] = None if alone else found
        return self._onlookers[board.job]


def panel(board: Board, height: int) -> RenderableType:
    """The running trials as rich shows them, in at most `height` lines.

    One trial alone has its whole ladder, a line a milestone; several have one line each.
    """
    from rich.text import Text

    running = board.running
    lines = []
    for trial in running[: max(height - 2, 1)]:
        limit = f" of {duration(trial.limit)}" if trial.limit else ""
        milestones = signs(trial.ladder.values())
        clock = f"{duration(trial.elapsed)}{limit}"
        lines.append(
            f"{trial.task}  {trial.agent}  {trial.phase.value:<9}  {clock}  {milestones}  "
            f"{trial.note}"
        )
    if len(running) == 1 and height > len(running[0].ladder) + 3:
        only = running[0]
        lines += [f"  {SIGNS[status]} {name}" for name, status in only.ladder.items()]
    hidden = len(running) - max(height - 2, 1)
    if hidden > 0:
        lines.append(f"… and {hidden} more")
    if board.planned > 1:
        lines.append(f"{board.finished} of {plural(board.planned, 'trial')} finished")
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

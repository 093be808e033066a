"""Keeps a board true: from a job's journal, its trials' records and the verifiers' own progress.

All of it is read from files, so that a process that did not start a job can show it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchflow.results.jobs import journal, task_facts
from benchflow.results.jobs.progress_events import NAME, Phase, reached, told
from benchflow.results.jobs.tail import Tail
from benchflow.results.jobs.task_facts import TaskFacts
from benchflow.results.jobs.trials import read_trial
from benchflow.results.jobs.unfinished import agent_of
from benchflow.results.json_values import mapping, moment, number
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.live.progress import Board, Listener, TrialState


class Watch:
    """Looks at one job. What its journal says already is taken over for trials under way."""

    def __init__(self, job: Path, board: Board, listener: Listener) -> None:
        self.board = board
        self._job = job
        self._listener = listener
        self._tasks = task_facts.of_job(job)[0]
        self._names = {staged: task.name for staged, task in self._tasks.items()}
        self._journal = Tail(job / journal.NAME)
        self._verifiers: dict[str, Tail] = {}
        for event in journal.last(self._journal.all_events()).values():
            trial = job / str(event["trial"])
            if (trial / "config.json").exists() and not (trial / "result.json").exists():
                self._enter(event)

    def look(self) -> None:
        """Brings the board up to what the files say now."""
        for event in self._journal.all_events():
            if journal.is_event(event):
                self._enter(event)
        for name, tail in self._verifiers.items():
            apply_progress(tail, self.board, self.board.trials[name], self._listener)
        self._listener.tick(self.board)

    def _enter(self, event: Mapping[str, Any]) -> None:
        name = str(event["trial"])
        try:
            phase = Phase(str(event.get("phase")))
        except ValueError:
            return
        state = self.board.trials.get(name) or self._begin(name)
        if phase in (Phase.BOOT, Phase.VERIFIER):
            self._verifiers[name] = Tail(self._job / name / "verifier" / NAME)
        if phase is Phase.DONE:
            self._end(state)
        if phase is Phase.LOST:
            del self.board.trials[name]
            self._verifiers.pop(name, None)
        state.enter(phase, number(event.get("limit")) or 0.0, moment(event.get("t")))
        self._listener.phase(self.board, state)

    def _begin(self, name: str) -> TrialState:
        config: Mapping[str, Any] = {}
        with suppress(UnreadableRecord):
            config = read_object(self._job / name / "config.json")
        task = self._tasks.get(str(mapping(config.get("task")).get("path")), TaskFacts("?"))
        state = self.board.trials[name] = TrialState(
            name=name,
            task=task.name,
            agent=agent_of(mapping(config.get("agent"))),
            ladder=dict.fromkeys(task.milestones, ""),
        )
        return state

    def _end(self, state: TrialState) -> None:
        tail = self._verifiers.pop(state.name, None)
        if tail is not None:
            apply_progress(tail, self.board, state, self._listener)
        try:
            state.result, _ = read_trial(self._job / state.name, self._names)
        except UnreadableRecord:
            state.note = "result.json cannot be read"
        else:
            state.ladder = {m.id: m.status for m in state.result.milestones} or state.ladder


def apply_progress(tail: Tail, board: Board, state: TrialState, listener: Listener) -> None:
    """Brings `state` up to what the verifier has appended to its progress since the last look."""
    for event in tail.events():
        state.note = told(event) or state.note
        decided = reached(event)
        if decided is None:
            continue
        # In a task of several steps they are `<step>/<id>`; the first unknown one is meant.
        open_ones = (one for one, status in state.ladder.items() if not status)
        known = next((one for one in open_ones if one.rpartition("/")[2] == decided.id), None)
        if known is not None:
            state.ladder[known] = decided.status
            listener.milestone(board, state, known)

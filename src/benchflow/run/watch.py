"""Keeps a board true: from Harbor's trial events and the verifier's own progress."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.results import journal
from benchflow.results.files import UnreadableRecord
from benchflow.results.ladder import STATUSES
from benchflow.results.read import read_trial
from benchflow.results.text import one_line
from benchflow.run.board import Board, Listener, Phase, TrialState
from benchflow.run.tail import Tail
from benchflow.tasks import Task

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.trial.hooks import TrialHookEvent

_TICK_SECONDS = 0.2


class Watch:
    """Listens to one job. `tasks` maps the path of each folder that is run to its task."""

    def __init__(self, board: Board, listener: Listener, tasks: Mapping[str, Task]) -> None:
        self.board = board
        self._listener = listener
        self._tasks = tasks
        self._tails: dict[str, Tail] = {}

    def attach(self, job: Job) -> None:
        """Subscribes to the events of `job`."""
        job.on_environment_started(self._environment_started)
        job.on_agent_started(self._agent_started)
        job.on_agent_ended(self._agent_ended)
        job.on_verification_started(self._verification_started)
        job.on_trial_cancelled(self._cancelled)
        job.on_trial_ended(self._ended)

    async def follow(self) -> None:
        """Reads the verifiers' progress until cancelled."""
        while True:
            self._read_progress()
            self._listener.tick(self.board)
            await asyncio.sleep(_TICK_SECONDS)

    def _task(self, event: TrialHookEvent) -> Task | None:
        return self._tasks.get(str(event.config.task.path))

    def _enter(self, event: TrialHookEvent, phase: Phase, limit: float = 0.0) -> TrialState:
        name = event.trial_name
        if name not in self.board.trials:
            task = self._task(event)
            self.board.trials[name] = TrialState(
                name=name,
                task=task.name if task else event.task_name,
                agent=event.result.agent_info.name,
                ladder=dict.fromkeys(_ladder_of(task), ""),
            )
        state = self.board.trials[name]
        state.enter(phase, limit)
        if self.board.job is not None:
            journal.enter(self.board.job, name, state.phase.value, state.limit)
        self._listener.phase(self.board, state)
        return state

    async def _environment_started(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.IMAGE)

    async def _agent_started(self, event: TrialHookEvent) -> None:
        task = self._task(event)
        seconds = task.agent_timeout_sec if task else 0.0
        multiplier = event.config.agent_timeout_multiplier
        self._enter(event, Phase.AGENT, seconds * (1.0 if multiplier is None else multiplier))

    async def _agent_ended(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.HAND_OVER)

    async def _verification_started(self, event: TrialHookEvent) -> None:
        task = self._task(event)
        seconds = task.verifier_timeout_sec if task else 0.0
        multiplier = event.config.verifier_timeout_multiplier
        path = _trial_dir(event) / "verifier" / "progress.jsonl"
        self._tails[event.trial_name] = Tail(path)
        phase = Phase.BOOT if task and task.is_benchflow else Phase.VERIFIER
        self._enter(event, phase, seconds * (1.0 if multiplier is None else multiplier))

    async def _cancelled(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.STOPPING)

    async def _ended(self, event: TrialHookEvent) -> None:
        self._read_progress()
        self._tails.pop(event.trial_name, None)
        names = {path: task.name for path, task in self._tasks.items()}
        state = self.board.trials.get(event.trial_name)
        if state is None:
            state = self._enter(event, Phase.IMAGE)
        try:
            state.result, _ = read_trial(_trial_dir(event), names)
        except UnreadableRecord:
            state.note = "result.json cannot be read"
        else:
            state.ladder = {m.id: m.status for m in state.result.milestones} or state.ladder
        self._enter(event, Phase.DONE)

    def _read_progress(self) -> None:
        for name, tail in self._tails.items():
            state = self.board.trials[name]
            apply_progress(tail, self.board, state, self._listener)


def apply_progress(tail: Tail, board: Board, state: TrialState, listener: Listener) -> None:
    """Brings `state` up to what the verifier has appended to its progress since the last look."""
    for event in tail.events():
        state.note = describe(event) or state.note
        name, status = str(event.get("id", "")), event.get("status")
        # In a task of several steps the rungs are `<step>/<id>`; the first unknown one is meant.
        rungs = [r for r, s in state.ladder.items() if not s and r.rpartition("/")[2] == name]
        if event.get("event") == "milestone" and rungs and status in STATUSES:
            state.ladder[rungs[0]] = str(status)
            listener.milestone(board, state, rungs[0])


def describe(event: Mapping[str, Any]) -> str:
    """One event of `progress.jsonl` in a few words; empty for one that tells a person nothing."""
    match event.get("event"):
        case "calibrated":
            return f"this host runs at {event.get('speed', '?')}× the reference speed"
        case "boot":
            machine = one_line(str(event.get("machine", "machine")), 40)
            return f"boot {one_line(str(event.get('n', '')), 8)} of {machine}"
        case "check":
            return "check " + one_line(str(event.get("name", "")), 60)
        case _:
            return ""


def _ladder_of(task: Task | None) -> list[str]:
    if task is None:
        return []
    return [m.id for m in task.milestones] + [
        f"{step.name}/{m.id}" for step in task.steps for m in step.milestones
    ]


def _trial_dir(event: TrialHookEvent) -> Path:
    return event.config.trials_dir / event.config.trial_name

"""Writes down which trial of a job is in which phase, from Harbor's events, to be followed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.results.jobs import journal
from benchflow.results.jobs.progress_events import Phase
from benchflow.tasks import Task

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.models.trial.config import TrialConfig
    from harbor.trial.hooks import TrialHookEvent


def agent_seconds(config: TrialConfig, tasks: Mapping[str, Task]) -> float:
    """How long the agent of a trial may work; 0 where that is not known. `tasks`: see `Phases`."""
    task = tasks.get(str(config.task.path))
    return _limit(task.agent_timeout_sec if task else 0.0, config.agent_timeout_multiplier)


def _limit(seconds: float, multiplier: float | None) -> float:
    return seconds * (1.0 if multiplier is None else multiplier)


class Phases:
    """The journal of one job. `tasks` maps the path of each folder that is run to its task."""

    def __init__(self, job: Path, tasks: Mapping[str, Task]) -> None:
        self._job = job
        self.tasks = tasks

    def attach(self, job: Job) -> None:
        """Subscribes to the events of `job`."""
        job.on_environment_started(self._environment_started)
        job.on_agent_started(self._agent_started)
        job.on_agent_ended(self._agent_ended)
        job.on_verification_started(self._verification_started)
        job.on_trial_cancelled(self._cancelled)
        job.on_trial_ended(self._ended)

    async def _environment_started(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.IMAGE)

    async def _agent_started(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.AGENT, agent_seconds(event.config, self.tasks))

    async def _agent_ended(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.HAND_OVER)

    async def _verification_started(self, event: TrialHookEvent) -> None:
        task = self.tasks.get(str(event.config.task.path))
        seconds = task.verifier_timeout_sec if task else 0.0
        phase = Phase.BOOT if task and task.is_benchflow else Phase.VERIFIER
        limit = _limit(seconds, event.config.verifier_timeout_multiplier)
        self._enter(event, phase, limit)

    async def _cancelled(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.STOPPING)

    async def _ended(self, event: TrialHookEvent) -> None:
        self._enter(event, Phase.DONE)

    def _enter(self, event: TrialHookEvent, phase: Phase, limit: float = 0.0) -> None:
        journal.enter(self._job, event.trial_name, phase.value, limit)

"""Writes and removes the markers of trials whose sandboxes are to be kept: `run.continuing`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.results.jobs import metered
from benchflow.results.jobs.trials import read_trial
from benchflow.results.jobs.verdict import CANCELLED, PROVIDER_FAULTS
from benchflow.results.model import Verdict
from benchflow.results.safe_files import UnreadableRecord
from benchflow.run.live.journal_writer import agent_seconds
from benchflow.run.resume.session_resume import (
    Ending,
    Kept,
    death,
    drop,
    drop_marker,
    find,
    marker,
    write,
)
from benchflow.tasks import Task

if TYPE_CHECKING:
    from harbor.agents.base import BaseAgent
    from harbor.job import Job
    from harbor.models.trial.config import AgentConfig, TrialConfig
    from harbor.trial.hooks import TrialHookEvent

_BEAT_SECONDS = 2.0


class Keeping:
    """The markers of one job. `tasks`: see `run.phases.Phases`."""

    def __init__(self, job: Path, tasks: Mapping[str, Task]) -> None:
        self._job = job
        self._tasks = tasks
        self._beating: dict[str, asyncio.Task[None]] = {}

    def attach(self, job: Job) -> None:
        """Give resumed trials their old names, and subscribe to events of `job`."""
        # Harbor tells trials of one configuration apart by their names alone, and makes new ones.
        waiting = dict(_markers(self._job))
        for config in job._remaining_trial_configs:
            for path, kept in waiting.items():
                if _is_of(kept, config):
                    config.trial_name = kept.trial
                    del waiting[path]
                    break
        for path in waiting:
            trial = self._job / path.stem
            if not _is_error(trial):  # one that is may be run again
                drop(trial)
        job.on_agent_started(self._started)
        job.on_agent_ended(self._ended)
        job.on_trial_ended(self._judged)

    async def _started(self, event: TrialHookEvent) -> None:
        trial = self._job / event.config.trial_name
        death(trial).unlink(missing_ok=True)
        before = find(trial)
        if before is not None and before.ended is not None:
            return
        if not can_continue(event.config.agent) or self._has_steps(event.config):
            return
        write(trial, self._marker(event, before))
        self._beating[trial.name] = asyncio.create_task(_beat(marker(trial)))

    async def _ended(self, event: TrialHookEvent) -> None:
        trial = self._job / event.config.trial_name
        if beating := self._beating.pop(trial.name, None):
            beating.cancel()
        task = asyncio.current_task()
        is_stopped = task is not None and task.cancelling() > 0
        if is_stopped or death(trial).exists():
            return
        kept = find(trial) or self._marker(event, None)
        if kept.ended is not None:
            return
        # Harbor tells of an agent's end on its way out of what the agent raised.
        ending = _ending(sys.exception())
        if ending is None or not self._is_verified_apart(event.config):
            drop_marker(trial)
            return
        spent = kept.spent + max(0.0, time.time() - kept.began)
        write(trial, replace(kept, spent=spent, ended=ending))

    async def _judged(self, event: TrialHookEvent) -> None:
        trial = self._job / event.config.trial_name
        kept = find(trial)
        if kept is None or kept.ended is None:
            return
        raised = event.result.exception_info
        if raised is not None and raised.exception_type == CANCELLED:
            return
        # A model that failed ended the agent's work: verifying that again would help nobody. Harbor
        # finds it in what the agent printed, the gateway in the calls.
        failed = metered.totals(trial).get("failing") or kept.ended.kind in PROVIDER_FAULTS
        if failed or not _is_error(trial):
            await asyncio.to_thread(drop, trial)

    def _marker(self, event: TrialHookEvent, before: Kept | None) -> Kept:
        """Of an agent that begins, or whose beginning stands in Harbor's record."""
        timing = event.result.agent_execution
        began = timing.started_at if timing else None
        return Kept(
            trial=event.config.trial_name,
            config=event.config.model_dump(mode="json", exclude_defaults=True),
            limit=agent_seconds(event.config, self._tasks),
            spent=before.spent if before else 0.0,
            began=began.timestamp() if began else time.time(),
            parts=before.parts + 1 if before else 0,
        )

    def _has_steps(self, config: TrialConfig) -> bool:
        task = self._tasks.get(str(config.task.path))
        return bool(task and task.steps)

    def _is_verified_apart(self, config: TrialConfig) -> bool:
        """Whether a second verification finds what the first found, and the agent's logs: the
        verifier has a sandbox of its own, and the agent worked in its own, not in our process."""
        from harbor.agents.installed.base import BaseInstalledAgent
        from harbor.models.task.config import TaskConfig
        from harbor.models.task.verifier_mode import task_has_any_shared_verifier

        kind = _metered_class(config.agent)
        if kind is None or not (kind.capabilities.resume or issubclass(kind, BaseInstalledAgent)):
            return False
        try:
            text = (Path(str(config.task.path)) / "task.toml").read_text(encoding="utf-8")
            task = TaskConfig.model_validate_toml(text)
        except (OSError, ValueError):  # Harbor's own business, and no reason to end a trial
            return False
        return not task.steps and not task_has_any_shared_verifier(task)


def can_continue(agent: AgentConfig) -> bool:
    """Whether an agent can take up a session again, and is behind the gateway, which knows what the
    session has used."""
    kind = _metered_class(agent)
    return kind is not None and bool(kind.capabilities.resume)


def _metered_class(agent: AgentConfig) -> type[BaseAgent] | None:
    from harbor.agents.factory import AgentFactory

    from benchflow.run.models.gateway_access import is_metered

    return AgentFactory.get_agent_class_from_config(agent) if is_metered(agent) else None


def _ending(raised: BaseException | None) -> Ending | None:
    """How an agent ended, where its trial is verified then; None where it is not."""
    from harbor.agents.installed.base import NonZeroAgentExitCodeError
    from harbor.trial.errors import AgentTimeoutError

    if raised is None:
        return Ending("", "")
    if isinstance(raised, AgentTimeoutError | NonZeroAgentExitCodeError):
        return Ending(type(raised).__name__, str(raised))
    return None


async def _beat(marker: Path) -> None:
    """Touch a marker again and again: so it is known later when the one who did it was killed."""
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        now = time.time()  # the kernel's own would be that of its last tick, some ms ago
        os.utime(marker, (now, now))


def _is_error(trial: Path) -> bool:
    """Whether a trial has a result, and that is an infrastructure error."""
    try:
        return read_trial(trial)[0].verdict is Verdict.ERROR
    except UnreadableRecord:
        return False


def _markers(job: Path) -> Iterator[tuple[Path, Kept]]:
    for path in sorted(marker(job / "any").parent.glob("*.json")):
        kept = find(job / path.stem)
        if kept is not None:
            yield path, kept


def _is_of(kept: Kept, config: TrialConfig) -> bool:
    from harbor.models.trial.config import TrialConfig

    try:
        return bool(TrialConfig.model_validate(kept.config) == config)
    except ValueError:
        return False

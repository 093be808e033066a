"""Trials that are cut off while their agent works: the sandbox is kept, the session goes on in it.

Whoever kills the process that runs a job, or the machine, ends every program in its sandboxes; what
they wrote is on disk. While an agent works that can take up a session of its own again, a marker
(`<jobs>/.kept/<job>/<trial>.json`) says that its sandbox is to be kept. `benchflow resume` then
gives the trial its old name, with it its sandbox, its token and what it has spent, and asks the
agent to go on. Every other trial that was cut off starts anew: an agent that has forgotten what it
did would face a machine that nobody set for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.errors import InfrastructureError
from benchflow.gateway.meter import replay
from benchflow.results.continued import NAME
from benchflow.results.files import UnreadableRecord, read_object, write_json
from benchflow.run.models import LEDGER
from benchflow.run.phases import agent_seconds
from benchflow.sandbox import cleanup, paths
from benchflow.tasks import Task

if TYPE_CHECKING:
    from harbor.agents.base import BaseAgent
    from harbor.environments.base import BaseEnvironment
    from harbor.job import Job
    from harbor.models.agent.context import AgentContext
    from harbor.models.trial.config import AgentConfig, TrialConfig
    from harbor.trial.hooks import TrialHookEvent

INSTRUCTION = (
    "You were interrupted: the machine that you work on was restarted. Files are as you left them; "
    "programs that you had started, and what was in memory, are gone. Go on with the task."
)
_SCHEMA = 1
_BEAT_SECONDS = 2.0


@dataclass(frozen=True)
class Kept:
    """A marker, as it was written when the agent began. Seconds are the agent's; `limit` 0: none.

    `spent` is what earlier parts took, `began` when this part began (seconds since the epoch),
    `parts` how many there were before this one.
    """

    trial: str
    config: Mapping[str, Any]
    limit: float
    spent: float
    began: float
    parts: int

    def left(self) -> float | None:
        """Seconds that the agent has left; None for no limit."""
        return None if not self.limit else max(0.0, self.limit - self.spent)


class Keeping:
    """Writes and removes the markers of one job. `tasks`: see `run.phases.Phases`."""

    def __init__(self, job: Path, tasks: Mapping[str, Task]) -> None:
        self._job = job
        self._tasks = tasks
        self._beating: dict[str, asyncio.Task[None]] = {}

    def attach(self, job: Job) -> None:
        """Give trials that are gone on with their old names, and subscribe to events of `job`."""
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
            if not (trial / "result.json").exists():  # else it is an error that may be run again
                drop(trial)
        job.on_agent_started(self._started)
        job.on_agent_ended(self._ended)

    async def _started(self, event: TrialHookEvent) -> None:
        trial = self._job / event.config.trial_name
        if not can_continue(event.config.agent) or _has_steps(self._tasks, event.config):
            return
        before = find(trial)
        _death(trial).unlink(missing_ok=True)
        marker(trial).parent.mkdir(parents=True, exist_ok=True)
        write_json(
            marker(trial),
            {
                "schema": _SCHEMA,
                "config": event.config.model_dump(mode="json", exclude_defaults=True),
                "limit": agent_seconds(event.config, self._tasks),
                "spent": before.spent if before else 0.0,
                "began": time.time(),
                "parts": before.parts + 1 if before else 0,
            },
        )
        self._beating[trial.name] = asyncio.create_task(_beat(marker(trial)))

    async def _ended(self, event: TrialHookEvent) -> None:
        trial = self._job / event.config.trial_name
        if beating := self._beating.pop(trial.name, None):
            beating.cancel()
        task = asyncio.current_task()
        is_stopped = task is not None and task.cancelling() > 0
        if not is_stopped and not _death(trial).exists():
            drop_marker(trial)


async def _beat(marker: Path) -> None:
    """Touch a marker again and again: so it is known later when the one who did it was killed."""
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        os.utime(marker)


def marker(trial: Path) -> Path:
    """Where it says that the sandbox of a trial's agent is to be kept."""
    return trial.parent.parent / ".kept" / trial.parent.name / f"{trial.name}.json"


def note_death(trial: Path) -> None:
    """Write down that the sandbox of a trial's agent died under it: then it is no end of its work.

    Whoever asks the sandbox for something notices first; that its processes are gone may take a
    busy machine longer to say.
    """
    if marker(trial).exists():
        _death(trial).touch()


def _death(trial: Path) -> Path:
    return marker(trial).with_suffix(".died")


def sandbox_name(trial: Path) -> str:
    """The name of the sandbox of a trial's agent: known to whoever goes on with it."""
    return f"box-{hashlib.sha256(str(trial.absolute()).encode()).hexdigest()[:12]}"


def can_continue(agent: AgentConfig) -> bool:
    """Whether an agent can take up a session again, and is behind the gateway, which knows what the
    session has used."""
    from harbor.agents.factory import AgentFactory

    from benchflow.run.metered import is_metered

    if not is_metered(agent):
        return False
    kind: type[BaseAgent] = AgentFactory.get_agent_class_from_config(agent)
    return bool(kind.capabilities.resume)


def find(trial: Path) -> Kept | None:
    """The marker of a trial; None when there is none that can be read."""
    try:
        found = read_object(marker(trial))
        return Kept(
            trial=trial.name,
            config=found["config"],
            limit=float(found["limit"]),
            spent=float(found["spent"]),
            began=float(found["began"]),
            parts=int(found["parts"]),
        )
    except (UnreadableRecord, KeyError, TypeError, ValueError):
        return None


def settle(trial: Path) -> str:
    """Make a trial that was cut off ready to be gone on with; "" when it is, else why it is not.

    The seconds of the part that was cut off are added up, to the last beat of whoever ran the job.
    """
    kept = find(trial)
    if kept is None:
        return "its agent was not at work, or cannot continue a session"
    state = paths.sandboxes() / sandbox_name(trial)
    if not state.is_dir():
        drop(trial)
        return "its sandbox is gone"
    tally = replay(trial.parent / LEDGER).tallies.get(trial.name)
    if tally is None or not tally.turns:
        drop(trial)
        return "its agent had not begun"
    record = read_object(marker(trial))
    # `began` moves along, so that settling twice adds nothing twice.
    record["spent"] = kept.spent + max(0.0, marker(trial).stat().st_mtime - kept.began)
    record["began"] = time.time()
    write_json(marker(trial), record)
    return ""


def drop_marker(trial: Path) -> None:
    """Nothing is to be kept of a trial any more."""
    marker(trial).unlink(missing_ok=True)
    _death(trial).unlink(missing_ok=True)


def drop(trial: Path) -> None:
    """Remove what was kept of a trial."""
    drop_marker(trial)
    cleanup.discard(sandbox_name(trial))


def forget_lost(jobs: Path) -> None:
    """Remove the markers of jobs that are no more."""
    for folder in (jobs / ".kept").glob("*/"):
        if not (jobs / folder.name).is_dir():
            shutil.rmtree(folder)


def say(trial: Path, kept: Kept) -> None:
    """Write into a trial's folder that it consists of several parts."""
    write_json(
        trial / NAME,
        {"schema": _SCHEMA, "parts": kept.parts + 2, "agent_seconds_before": kept.spent},
    )


async def go_on(
    agent: BaseAgent,
    environment: BaseEnvironment,
    context: AgentContext,
    kept: Kept,
    totals: Callable[[], Mapping[str, Any]],
) -> None:
    """Let an agent continue its session, for the time that it has left.

    `totals()`: what the gateway says of the trial now. Raises TimeoutError when the time is over,
    what the agent raises, and InfrastructureError instead when its model gave not one answer
    although it might have: then the session could not be read.
    """
    before = totals()["turns"]
    try:
        await asyncio.wait_for(agent.resume(INSTRUCTION, environment, context), kept.left())
    except TimeoutError:
        raise
    except Exception as error:
        now = totals()
        if now["turns"] > before or now["budget_exhausted"]:
            raise
        raise InfrastructureError(
            f"the agent could not continue its session: {error}",
            hint="benchflow resume --errors starts the trial anew",
        ) from error


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


def _has_steps(tasks: Mapping[str, Task], config: TrialConfig) -> bool:
    task = tasks.get(str(config.task.path))
    return bool(task and task.steps)

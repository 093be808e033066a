"""Trials that are cut off: the sandbox is kept, and they continue in it.

Killing the process that runs a job, or the machine, ends every program in its sandboxes; what
they wrote is on disk. A marker (`<jobs>/.kept/<job>/<trial>.json`, see `run.keeping`) says that a
trial's sandbox is to be kept: while an agent works that can take up a session of its own again, and
from an agent's end until the verdict. `benchflow resume` then gives the trial its old name, with it
its sandbox, its token and what it has spent. An agent that was at work is asked to continue; of one
that had ended, what it left is verified. Every other trial that was cut off starts from scratch: an
agent that has forgotten what it did would face a machine that nobody set for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchflow.base.atomic import write_json
from benchflow.errors import InfrastructureError
from benchflow.gateway.accounts.totals import replay
from benchflow.results.jobs.continued import NAME
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.checkpoints.store import FOLDER as CHECKPOINTS
from benchflow.run.models.gateway_access import LEDGER
from benchflow.sandbox import cleanup, paths

if TYPE_CHECKING:
    from harbor.agents.base import BaseAgent
    from harbor.environments.base import BaseEnvironment
    from harbor.models.agent.context import AgentContext

INSTRUCTION = (
    "You were interrupted: the machine that you work on was restarted. Files are as you left them; "
    "programs that you had started, and what was in memory, are gone. Continue with the task."
)
#: What `settle` says of a trial that goes on.
SESSION = "its agent's session continues in the sandbox that was kept"
ENDED = "its agent had ended: what it left in the sandbox that was kept is verified"
_SCHEMA = 1


class Ending(NamedTuple):
    """How an agent ended: the name of what it raised, with its message; "" for of itself."""

    kind: str
    message: str


@dataclass(frozen=True)
class Kept:
    """A marker. Seconds are the agent's; `limit` 0: none.

    `spent` is what earlier parts took, `began` when this part began (seconds since the epoch),
    `parts` how many there were before this one. `ended`: None while the agent works; then `spent`
    is all that it took.
    """

    trial: str
    config: Mapping[str, Any]
    limit: float
    spent: float
    began: float
    parts: int
    ended: Ending | None = None

    def left(self) -> float | None:
        """Seconds that the agent has left; None for no limit."""
        return None if not self.limit else max(0.0, self.limit - self.spent)


def marker(trial: Path) -> Path:
    """Where it says that the sandbox of a trial's agent is to be kept."""
    return trial.parent.parent / ".kept" / trial.parent.name / f"{trial.name}.json"


def note_death(trial: Path) -> None:
    """Write down that the sandbox of a trial's agent died under it: then it is no end of its work.

    A call to the sandbox notices first; that its processes are gone may take a
    busy machine longer to say.
    """
    if marker(trial).exists():
        death(trial).touch()


def death(trial: Path) -> Path:
    """Where `note_death` writes."""
    return marker(trial).with_suffix(".died")


def _set_aside(trial: Path) -> Path:
    """Where checkpoints of a trial that was cut off wait for it to continue."""
    return marker(trial).with_suffix(".checkpoints")


def keep_checkpoints(trial: Path) -> None:
    """Save the checkpoints of a trial that is to continue, before its folder is removed."""
    if (trial / CHECKPOINTS).is_dir():
        shutil.rmtree(_set_aside(trial), ignore_errors=True)
        (trial / CHECKPOINTS).rename(_set_aside(trial))


def bring_back_checkpoints(trial: Path) -> None:
    """Put what `keep_checkpoints` saved into the folder of the trial that continues."""
    if _set_aside(trial).is_dir() and not (trial / CHECKPOINTS).exists():
        _set_aside(trial).rename(trial / CHECKPOINTS)


def sandbox_name(trial: Path) -> str:
    """The name of the sandbox of a trial's agent: known to the process that resumes it."""
    return f"box-{hashlib.sha256(str(trial.absolute()).encode()).hexdigest()[:12]}"


def find(trial: Path) -> Kept | None:
    """The marker of a trial; None when there is none that can be read."""
    try:
        found = read_object(marker(trial))
        ended = found.get("ended")
        return Kept(
            trial=trial.name,
            config=found["config"],
            limit=float(found["limit"]),
            spent=float(found["spent"]),
            began=float(found["began"]),
            parts=int(found["parts"]),
            ended=None if ended is None else Ending(str(ended["kind"]), str(ended["message"])),
        )
    except (UnreadableRecord, KeyError, TypeError, ValueError):
        return None


def write(trial: Path, kept: Kept) -> None:
    """Write the marker of a trial."""
    ended = None if kept.ended is None else kept.ended._asdict()
    marker(trial).parent.mkdir(parents=True, exist_ok=True)
    write_json(
        marker(trial),
        {
            "schema": _SCHEMA,
            "config": kept.config,
            "limit": kept.limit,
            "spent": kept.spent,
            "began": kept.began,
            "parts": kept.parts,
            "ended": ended,
        },
    )


def settle(trial: Path) -> str:
    """Make a trial that was cut off ready to be resumed, and say how it continues, or that it
    starts from scratch and why.

    The seconds of the part that was cut off are added up, to the last beat of the job's process.
    """
    kept = find(trial)
    if kept is None:
        return "it starts from scratch: its agent was not at work, or cannot continue a session"
    if not (paths.sandboxes() / sandbox_name(trial)).is_dir():
        drop(trial)
        return "it starts from scratch: its sandbox is gone"
    if kept.ended is not None:
        return ENDED
    tally = replay(trial.parent / LEDGER).tallies.get(trial.name)
    if tally is None or not tally.turns:
        drop(trial)
        return "it starts from scratch: its agent had not begun"
    # `began` moves along, so that settling twice adds nothing twice.
    spent = kept.spent + max(0.0, marker(trial).stat().st_mtime - kept.began)
    write(trial, replace(kept, spent=spent, began=time.time()))
    return SESSION


def drop_marker(trial: Path) -> None:
    """Nothing is to be kept of a trial any more."""
    marker(trial).unlink(missing_ok=True)
    death(trial).unlink(missing_ok=True)
    shutil.rmtree(_set_aside(trial), ignore_errors=True)


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
    """Write into a trial's folder of how many parts its agent's work consists."""
    parts = kept.parts + (2 if kept.ended is None else 1)
    write_json(
        trial / NAME, {"schema": _SCHEMA, "parts": parts, "agent_seconds_before": kept.spent}
    )


def end_again(ended: Ending) -> None:
    """Raise what an agent ended with, so that its trial ends as it would have."""
    from harbor.agents.installed.base import NonZeroAgentExitCodeError
    from harbor.trial.errors import AgentTimeoutError

    if ended.kind == AgentTimeoutError.__name__:
        raise TimeoutError(ended.message)
    if ended.kind:
        # Harbor writes down the name of the class.
        raise type(ended.kind, (NonZeroAgentExitCodeError,), {})(ended.message)


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
            hint="benchflow resume --errors starts the trial from scratch",
        ) from error

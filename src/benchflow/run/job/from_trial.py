"""The earlier trial that a sequel begins from: found, and refused where it cannot be begun from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base.text import one_line
from benchflow.errors import UsageError
from benchflow.results.jobs import task_facts
from benchflow.results.jobs.trials import read_trial
from benchflow.results.json_values import mapping
from benchflow.results.model import Trial, Verdict
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.job.agents import who
from benchflow.tasks import Task
from benchflow.tasks.model import Begun
from benchflow.tasks.sequels import Refused, delivered_digest

if TYPE_CHECKING:
    from harbor.models.trial.config import AgentConfig

_ELSE = "begin from another trial, or leave --from-trial out: then the authors' work is there"


@dataclass(frozen=True)
class Earlier:
    """A finished trial. `name`: JOB/TRIAL; `who`: the agent that worked in it, and its model."""

    name: str
    trial: Trial
    who: str


def find(named: str, jobs_dir: Path) -> Earlier:
    """The trial JOB/TRIAL below `jobs_dir`, or in that folder. Raises UsageError."""
    folders = [path for path in (jobs_dir / named, Path(named)) if path.is_dir()]
    if not folders:
        raise UsageError(
            f"no trial {named!r}", hint="JOB/TRIAL; benchflow results JOB names its trials"
        )
    folder = folders[0].resolve()
    facts, _ = task_facts.of_job(folder.parent)
    try:
        trial, _ = read_trial(folder, {at: fact.name for at, fact in facts.items()})
        agent = mapping(mapping(read_object(folder / "result.json").get("config")).get("agent"))
    except UnreadableRecord as error:
        raise UsageError(
            f"{named}: result.json {error}",
            hint="name a finished trial as JOB/TRIAL (benchflow results JOB)",
        ) from error
    return Earlier(one_line(f"{folder.parent.name}/{folder.name}", 300), trial, who(agent))


def begun(task: Task, earlier: Earlier) -> Begun:
    """What `task` begins with. Raises UsageError where that trial is none for it."""
    if task.sequel is None:
        raise UsageError(
            f"{task.name} is no sequel: it begins from no earlier trial",
            hint="leave --from-trial out, or name a sequel (benchflow tasks show NAME says it)",
        )
    wanted, trial = task.sequel.earlier, earlier.trial
    if trial.task != wanted.name:
        raise UsageError(
            f"{earlier.name} is a trial of {trial.task}; {task.name} begins from {wanted.name}",
            hint=f"name a trial of {wanted.name}",
        )
    if trial.verdict is not Verdict.RESOLVED:
        raise UsageError(
            f"{earlier.name} is {trial.verdict.value}: {task.name} counts on work that does all "
            f"that {wanted.name} asks for",
            hint=_ELSE,
        )
    folder = trial.path / "artifacts"
    try:
        return Begun(earlier.name, delivered_digest(wanted, folder), folder)
    except Refused as error:
        raise UsageError(f"{earlier.name}: {error.path} {error.why}", hint=_ELSE) from error


def begun_from(task: Task, named: str, jobs_dir: Path) -> Begun | None:
    """As `find` and `begun`; None where no trial is named."""
    return begun(task, find(named, jobs_dir)) if named else None


def refuse_others(earlier: Earlier, agents: Iterable[AgentConfig]) -> None:
    """Raise UsageError where another agent than that of the earlier trial is to continue it."""
    for each in agents:
        config: Mapping[str, Any] = each.model_dump(mode="json", exclude_defaults=True)
        if who(config) != earlier.who:
            raise UsageError(
                f"{earlier.name} is the work of {earlier.who}, and {who(config)} would continue it",
                hint="a sequel begins from the same agent's work, or from the authors': name that "
                "agent and model, or leave --from-trial out",
            )

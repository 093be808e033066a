"""Sweeps: agents × models × tasks × hints × attempts from one file, gone on with after anything.

A sweep is an ordinary set of jobs, `<name>-1`, `<name>-2` …, that carry its name in their record.
What is left to do is read from their trials each time, so there is no state of the sweep's own to
lose: the file may grow by attempts, tasks and agents, and a task that changed is a new task.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchflow.errors import UsageError
from benchflow.results import lock
from benchflow.results.files import UnreadableRecord, read_object
from benchflow.results.model import Job, Trial, Verdict
from benchflow.results.read import read_job
from benchflow.run import jobs, record
from benchflow.run.agents import PlannedTask, configure
from benchflow.run.board import Listener
from benchflow.run.plan import Plan, assemble
from benchflow.run.request import RunRequest
from benchflow.tasks import Task, select, stage

if TYPE_CHECKING:
    from harbor.models.trial.config import AgentConfig

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")]


class Entry(BaseModel):
    """One agent with the models that it is tried with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    agent: str
    models: list[str] = []
    options: dict[str, str] = {}
    env: dict[str, str] = {}


class SweepFile(BaseModel):
    """A sweep as its author writes it; docs/sweeps.md explains every key."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    tasks: list[str] = Field(min_length=1)
    skills: list[str] = []
    hints: list[Annotated[int, Field(ge=0, le=3)]] = Field([0], min_length=1)
    attempts: int = Field(1, ge=1)
    concurrent: int | None = Field(None, ge=1)
    sandbox: str = "namespace"
    agent_timeout_multiplier: float = Field(1.0, gt=0)
    verifier_timeout_multiplier: float = Field(1.0, gt=0)
    entry: list[Entry] = Field(min_length=1)


@dataclass(frozen=True)
class Cell:
    """One task with one hint level, tried by one agent and model; `trials` are the finished ones.

    `agent` indexes `Sweep.agents`. Errors count as tried: only a retry runs them again.
    """

    planned: PlannedTask
    agent: int
    trials: tuple[Trial, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many of its finished trials came to `verdict`."""
        return sum(trial.verdict is verdict for trial in self.trials)


@dataclass(frozen=True)
class Sweep:
    """A sweep and how far it is: every cell of the matrix, and the jobs that were made for it."""

    file: SweepFile
    jobs_dir: Path
    agents: tuple[AgentConfig, ...]
    cells: tuple[Cell, ...]
    jobs: tuple[Job, ...]

    @property
    def n_planned(self) -> int:
        """Trials in all."""
        return len(self.cells) * self.file.attempts

    @property
    def n_finished(self) -> int:
        """Trials of the matrix that have a verdict, at most `attempts` a cell."""
        return sum(min(len(cell.trials), self.file.attempts) for cell in self.cells)

    def who(self, agent: int) -> str:
        """Agent and model, as tables name them."""
        config = self.agents[agent]
        name = config.name or str(config.import_path).rpartition(":")[2]
        given = config.kwargs or {}
        for kind, key in (("ladder", "stop_after"), ("exploit", "exploit"), ("scripted", "script")):
            name = f"{kind}:{Path(str(given[key])).name}" if key in given else name
        return " ".join(part for part in (name, config.model_name) if part)


def read_file(path: Path) -> SweepFile:
    """The sweep in a TOML file. Raises UsageError that names the key and what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}", hint="an example: benchflow sweep --help") from error
    try:
        found = SweepFile.model_validate({"name": path.stem, **data})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {key}: {first['msg']}", hint="see docs/sweeps.md") from error
    # Paths of tasks are meant from where the file lies.
    tasks = [str(path.parent / t) if t.startswith(("./", "../")) else t for t in found.tasks]
    return found.model_copy(update={"tasks": tasks})


def survey(file: SweepFile, jobs_dir: Path) -> Sweep:
    """The whole matrix with what is finished of it. Raises UsageError and TaskError."""
    tasks = [
        PlannedTask(task, stage(task, hint), hint)
        for task in _chosen(file)
        for hint in dict.fromkeys(file.hints)
    ]
    agents = tuple(
        config
        for entry in file.entry
        for config in configure(
            RunRequest(
                tasks=(),
                agents=(entry.agent,),
                models=tuple(entry.models),
                agent_options=entry.options,
                agent_env=entry.env,
            ),
            tasks,
        )
    )
    made = _jobs_of(file.name, jobs_dir)
    finished: dict[str, list[Trial]] = defaultdict(list)
    for job in made:
        for trial in job.trials:
            finished[_key_of(trial.path)].append(trial)
    cells = [
        Cell(planned, n, tuple(finished.pop(_key(str(planned.staged), config), ())))
        for planned in tasks
        for n, config in enumerate(agents)
    ]
    return Sweep(file, jobs_dir, agents, tuple(cells), made)


def run(
    file: SweepFile,
    jobs_dir: Path,
    listener: Listener,
    on_job: Callable[[Path, int], None],
    *,
    retry_errors: bool = False,
) -> Sweep:
    """Runs what is missing; never a finished trial again. Returns the sweep as it then stands.

    `on_job` is told each job's folder and number of trials before it starts or goes on. Raises
    JobInUse when another process works on this sweep, and what `jobs.start` raises.
    """
    held = jobs_dir / f".{file.name}.sweep"
    held.mkdir(parents=True, exist_ok=True)
    with lock.hold(held, "the same benchflow sweep again"):
        for job in (begun := survey(file, jobs_dir)).jobs:
            left = (job.planned or 0) - len(job.trials)
            left += job.count(Verdict.ERROR) if retry_errors else 0
            if left > 0 and _goes_on(job, begun):
                on_job(job.path, left)
                jobs.resume(job.path, listener, retry_errors=retry_errors)
        sweep = survey(file, jobs_dir)
        for plan in missing(sweep):
            on_job(plan.job_dir, plan.n_trials)
            jobs.start(plan, listener)
    return survey(file, jobs_dir)


def missing(sweep: Sweep) -> Iterator[Plan]:
    """Jobs that run what has no trial yet: cells that lack equally much share one.

    Harbor runs a job attempt by attempt, each over all tasks and agents, so early results are
    balanced.
    """
    lacking: dict[tuple[int, int], list[int]] = defaultdict(list)
    planned: dict[int, PlannedTask] = {}
    for cell in sweep.cells:
        planned[id(cell.planned)] = cell.planned
        left = sweep.file.attempts - len(cell.trials)
        if left > 0:
            lacking[(id(cell.planned), left)].append(cell.agent)
    together: dict[tuple[int, tuple[int, ...]], list[PlannedTask]] = defaultdict(list)
    for (task, left), agents in lacking.items():
        together[(left, tuple(agents))].append(planned[task])
    number = len(sweep.jobs)
    for (left, those), tasks in together.items():
        number += 1
        while (sweep.jobs_dir / f"{sweep.file.name}-{number}").exists():
            number += 1
        request = RunRequest(
            tasks=tuple(task.task.name for task in tasks),
            agents=tuple(sweep.who(agent) for agent in those),
            models=tuple(filter(None, (sweep.agents[agent].model_name for agent in those))),
            attempts=left,
            concurrent=sweep.file.concurrent,
            sandbox=sweep.file.sandbox,
            job_name=f"{sweep.file.name}-{number}",
            jobs_dir=sweep.jobs_dir,
            sweep=sweep.file.name,
            agent_timeout_multiplier=sweep.file.agent_timeout_multiplier,
            verifier_timeout_multiplier=sweep.file.verifier_timeout_multiplier,
        )
        yield assemble(request, tasks, [sweep.agents[agent] for agent in those])


def _goes_on(job: Job, sweep: Sweep) -> bool:
    """Not where a task changed since: what is missing of the others gets a job of its own."""
    staged = {str(cell.planned.staged) for cell in sweep.cells}
    return all(task["staged"] in staged for task in record.read(job.path)["tasks"])


def _chosen(file: SweepFile) -> list[Task]:
    tasks = select(file.tasks)
    if not file.skills:
        return tasks
    known = sorted({skill for task in tasks for skill in task.skills})
    chosen = [task for task in tasks if set(file.skills) & set(task.skills)]
    if not chosen:
        raise UsageError(
            f"no task has a skill of {', '.join(file.skills)}", hint=f"they have: {known}"
        )
    return chosen


def _jobs_of(name: str, jobs_dir: Path) -> tuple[Job, ...]:
    if not jobs_dir.is_dir():
        return ()
    found = []
    for folder in jobs_dir.glob(f"{name}-*/"):
        try:
            saved = record.read(folder)
        except UsageError:
            continue
        if saved.get("sweep") == name:
            found.append((str(saved.get("created")), read_job(folder)))
    return tuple(job for _, job in sorted(found, key=lambda pair: (pair[0], pair[1].name)))


def _key_of(trial: Path) -> str:
    """The cell that a trial belongs to. The staged folder's name holds content and hint."""
    from harbor.models.trial.config import TrialConfig

    try:
        # Harbor leaves out what has its default value, the oracle's name too.
        config = TrialConfig.model_validate(read_object(trial / "config.json"))
    except (UnreadableRecord, ValueError):
        return ""
    return _key(str(config.task.path), config.agent)


def _key(staged: str, agent: AgentConfig) -> str:
    """Environment variables are left out: a key that was renewed is not another agent."""
    asked = (agent.name, agent.import_path, agent.model_name)
    return repr((staged, asked, sorted(agent.kwargs.items(), key=repr)))

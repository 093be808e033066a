"""Sweeps: agents × models × tasks × hints × attempts from one file, continued after any stop.

A sweep is an ordinary set of jobs, `<name>-1`, `<name>-2` …, that carry its name in their record.
What is left to do is read from their trials each time, so there is no state of the sweep's own to
lose: the file may grow by attempts, tasks and agents, and a task that changed is a new task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.errors import UsageError
from benchflow.gateway.config import Budget, Config
from benchflow.results.jobs import lock
from benchflow.results.jobs.trials import read_job
from benchflow.results.jobs.verdict import CANCELLED
from benchflow.results.model import Job, Problem, Trial, Verdict
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run import fitness
from benchflow.run.job import job_record, layers
from benchflow.run.job import jobs as jobs
from benchflow.run.job.agent_secrets import give_again
from benchflow.run.job.agents import EXPLOIT, VARIANT, configure, who
from benchflow.run.job.plan import Plan, assemble
from benchflow.run.job.request import RunRequest
from benchflow.run.job.worker import Interrupted
from benchflow.run.live.progress import Listener
from benchflow.run.models import job_gateway, rate_limits
from benchflow.run.models.gateway_access import is_metered
from benchflow.run.sweep.shard import WHOLE, Shard, share
from benchflow.run.sweep.sweep_budget import BudgetSpent, Gate, Purse, Spent, spent_in
from benchflow.run.sweep.sweepfile import SweepFile, lock_of
from benchflow.tasks import Staged, Task, select, stage

if TYPE_CHECKING:
    from harbor.models.trial.config import AgentConfig


@dataclass(frozen=True)
class Cell:
    """One task with one hint level, tried by one agent and model; `trials` are the finished ones.

    `agent` indexes `Sweep.agents`. Errors count as tried: only a retry runs them again. `wanted`:
    how many trials it is to have.
    """

    planned: Staged
    agent: int
    wanted: int
    trials: tuple[Trial, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many of its finished trials came to `verdict`."""
        return sum(trial.verdict is verdict for trial in self.trials)


@dataclass(frozen=True)
class Sweep:
    """A sweep and how far it is: every cell of the matrix, and the jobs that were made for it.

    `spent`: by all its trials. `stopped`: why no further trial was started, or "". Of a `shard`,
    all of it is that part's: cells, jobs and what may be spent.
    """

    file: SweepFile
    jobs_dir: Path
    agents: tuple[AgentConfig, ...]
    cells: tuple[Cell, ...]
    jobs: tuple[Job, ...]
    spent: Spent
    stopped: str = ""
    shard: Shard = WHOLE

    @property
    def n_planned(self) -> int:
        """Trials in all."""
        return sum(cell.wanted for cell in self.cells)

    @property
    def n_finished(self) -> int:
        """Trials of the matrix that have a verdict, at most as many a cell as are wanted."""
        return sum(min(len(cell.trials), cell.wanted) for cell in self.cells)

    def variables(self, agent: AgentConfig) -> Mapping[str, str]:
        """The variables that the file gives an agent of one of the sweep's jobs."""
        known = {_key("", config): config.env for config in self.agents}
        return known.get(_key("", agent), {})

    def who(self, agent: int) -> str:
        """Agent and model, as tables name them."""
        return who(self.agents[agent].model_dump(mode="json", exclude_defaults=True))


def survey(file: SweepFile, jobs_dir: Path, shard: Shard = WHOLE) -> Sweep:
    """The matrix with what is finished of it, and what it has spent: of one `shard`, or of the
    whole, whichever jobs ran it. Raises UsageError and TaskError."""
    file = share(file, shard)
    tasks = [stage(task, hint) for task in _chosen(file) for hint in dict.fromkeys(file.hints)]
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
                sandbox=file.sandbox,
            ),
            tasks,
        )
    )
    rate_limits.check(file.limits, [agent.model_name for agent in agents if agent.model_name])
    made = tuple(read_job(job) for job in _jobs_of(file, jobs_dir, shard))
    finished: dict[str, list[Trial]] = defaultdict(list)
    for job in made:
        for trial in _judged(job):
            finished[_key_of(trial.path)].append(trial)
    cells = [
        Cell(
            planned,
            n,
            shard.attempts_of(m * len(agents) + n, len(tasks) * len(agents), file.attempts),
            tuple(finished.pop(_key(str(planned.folder), config), ())),
        )
        for m, planned in enumerate(tasks)
        for n, config in enumerate(agents)
    ]
    spent = spent_in(job.path for job in made)
    return Sweep(file, jobs_dir, agents, tuple(cells), made, spent, shard=shard)


def _jobs_of(file: SweepFile, jobs_dir: Path, shard: Shard) -> list[Path]:
    return job_record.of_sweep(file.name, jobs_dir, "" if shard == WHOLE else str(shard))


def run(
    file: SweepFile,
    jobs_dir: Path,
    listener: Listener,
    on_job: Callable[[Path, int], None],
    *,
    shard: Shard = WHOLE,
    retry_errors: bool = False,
    on_mended: Callable[[Problem], None] = lambda problem: None,
    engine: str = "",
) -> Sweep:
    """Runs what is missing of a `shard`, or of the whole; never a finished trial again. Returns the
    sweep as it then stands, `stopped` where its budget is spent.

    `engine`: where its trials run (`run.job.engine`). `on_job` is told each job's folder and number
    of trials before it starts, `on_mended` what `jobs.resume` tells. Raises JobInUse when another
    process works on this sweep, and what `jobs.start` raises.
    """
    held = lock_of(file.name if shard == WHOLE else f"{file.name}-{shard.slug}", jobs_dir)
    held.mkdir(parents=True, exist_ok=True)
    with lock.hold(held, "the same benchflow sweep again"):
        try:
            _run(
                file,
                jobs_dir,
                shard,
                listener,
                on_job,
                on_mended,
                engine,
                retry_errors=retry_errors,
            )
        except BudgetSpent as end:
            return replace(survey(file, jobs_dir, shard), stopped=end.message)
        except Interrupted as stop:
            raise Interrupted(stop.message, hint="continue with the same command") from None
    return survey(file, jobs_dir, shard)


def _run(
    file: SweepFile,
    jobs_dir: Path,
    shard: Shard,
    listener: Listener,
    on_job: Callable[[Path, int], None],
    on_mended: Callable[[Problem], None],
    engine: str,
    *,
    retry_errors: bool,
) -> None:
    for folder in _jobs_of(file, jobs_dir, shard):
        if not lock.is_held(folder):
            job_gateway.settle(folder)
    begun = survey(file, jobs_dir, shard)
    tasks = dict.fromkeys(cell.planned.task for cell in begun.cells)
    fitness.refuse([*tasks], file.sandbox)
    for job in begun.jobs:
        # Our own record is whole; Harbor's result.json may be torn, or not be there yet.
        judged = _judged(job)
        left = int(job_record.read(job.path)["n_trials"]) - len(judged)
        left += sum(trial.verdict is Verdict.ERROR for trial in judged) if retry_errors else 0
        if left > 0 and _goes_on(job, begun):
            gate = _gate(begun, job.path)
            if not engine:
                layers.provide(begun.agents)
            on_job(job.path, left)
            jobs.resume(
                job.path,
                listener,
                retry_errors=retry_errors,
                gate=gate,
                change=lambda config: _changed(config, begun.file),
                variables=begun.variables,
                on_mended=on_mended,
                engine=engine,
            )
    for plan in missing(survey(file, jobs_dir, shard), engine):
        gate = _gate(begun, plan.job_dir)
        if not engine:
            layers.provide(plan.config.agents)
        on_job(plan.job_dir, plan.n_trials)
        jobs.start(plan, listener, gate)


def _gate(sweep: Sweep, job: Path) -> Gate | None:
    """The gate of one job. Raises BudgetSpent where nothing may start at all."""
    file = sweep.file
    if file.purse == Purse():
        return None
    folders = _jobs_of(file, sweep.jobs_dir, sweep.shard)
    if why := file.purse.over(spent_in(folders)):
        raise BudgetSpent(why)
    known = Budget(usd=file.trial.max_usd, tokens=file.trial.max_tokens)
    return Gate(file.purse, spent_in(each for each in folders if each != job), known)


def _changed(config: Config, file: SweepFile) -> Config:
    """The gateway of a job that was cut off, as the file wants it now."""
    routes = tuple(
        route.model_copy(update={"limits": rate_limits.of(route.model, file.limits)})
        for route in config.routes
    )
    return config.model_copy(update={"routes": routes, "budget": file.trial_budget})


def missing(sweep: Sweep, engine: str = "") -> Iterator[Plan]:
    """Jobs that run what has no trial yet: cells that lack equally much share one.

    Harbor runs a job attempt by attempt, each over all tasks and agents, so early results are
    balanced.
    """
    lacking: dict[tuple[int, int], list[int]] = defaultdict(list)
    planned: dict[int, Staged] = {}
    for cell in sweep.cells:
        planned[id(cell.planned)] = cell.planned
        left = cell.wanted - len(cell.trials)
        if left > 0:
            lacking[(id(cell.planned), left)].append(cell.agent)
    together: dict[tuple[int, tuple[int, ...]], list[Staged]] = defaultdict(list)
    for (task, left), agents in lacking.items():
        together[(left, tuple(agents))].append(planned[task])
    number = len(sweep.jobs)
    part = "" if sweep.shard == WHOLE else f"-{sweep.shard.slug}"
    for (left, those), tasks in together.items():
        number += 1
        while (sweep.jobs_dir / f"{sweep.file.name}{part}-{number}").exists():
            number += 1
        named = tuple(filter(None, (sweep.agents[agent].model_name for agent in those)))
        metered = any(is_metered(sweep.agents[agent]) for agent in those)
        budget = sweep.file.trial_budget if metered else Budget()
        request = RunRequest(
            tasks=tuple(task.task.name for task in tasks),
            agents=tuple(sweep.who(agent) for agent in those),
            models=named,
            attempts=left,
            concurrent=sweep.file.concurrent,
            sandbox=sweep.file.sandbox,
            job_name=f"{sweep.file.name}{part}-{number}",
            jobs_dir=sweep.jobs_dir,
            sweep=sweep.file.name,
            shard=str(sweep.shard) if part else "",
            agent_timeout_multiplier=sweep.file.agent_timeout_multiplier,
            verifier_timeout_multiplier=sweep.file.verifier_timeout_multiplier,
            max_usd=budget.usd,
            max_tokens=budget.tokens,
            max_turns=budget.turns,
            max_minutes=budget.minutes,
            limits={
                model: each
                for model, each in sweep.file.limits.items()
                if metered and model in (rate_limits.EVERY, *named)
            },
            stall_minutes=sweep.file.stall_minutes,
            checkpoint_minutes=sweep.file.checkpoints,
            engine=engine,
        )
        yield assemble(request, tasks, [sweep.agents[agent] for agent in those])


def _judged(job: Job) -> list[Trial]:
    """The finished trials of a job; Harbor writes a result for those that were stopped, too."""
    return [trial for trial in job.trials if trial.cause != CANCELLED]


def _goes_on(job: Job, sweep: Sweep) -> bool:
    """Not where a task or an agent's secret changed since: what is missing of the others gets a job
    of its own."""
    from harbor.models.job.config import JobConfig

    saved = job_record.read(job.path)
    staged = {_place(str(cell.planned.folder)) for cell in sweep.cells}
    try:
        give_again(JobConfig.model_validate(saved["harbor"]), sweep.variables)
    except UsageError:
        return False
    return all(_place(task["staged"]) in staged for task in saved["tasks"])


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
    # A script is told of all tasks of its job: another task beside this one is not another agent.
    left_out = "sources" if agent.import_path in (EXPLOIT, VARIANT) else ""
    options = [item for item in agent.kwargs.items() if item[0] != left_out]
    return repr((_place(staged), asked, sorted(options, key=repr)))


def _place(staged: str) -> str:
    """A task's folder, wherever the machine that ran it keeps those that were staged."""
    parts = Path(staged).parts
    return "/".join(parts[-3:]) if parts[-3:-2] == ("staged",) else staged

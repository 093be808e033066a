"""From a request to Harbor's job configuration: everything that can be wrong is found here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.errors import UsageError
from benchflow.gateway.config import Budget, Config
from benchflow.run import fitness
from benchflow.run.job import from_trial, layers
from benchflow.run.job.agents import configure
from benchflow.run.job.host_memory import available_mb
from benchflow.run.job.request import RunRequest
from benchflow.run.models import job_gateway
from benchflow.tasks import Staged, select, stage

if TYPE_CHECKING:
    from harbor.models.job.config import JobConfig
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig

NAMESPACE = "benchflow.run.job.environment:TrialEnvironment"
MACHINE = "benchflow.run.job.machine_environment:MachineTrialEnvironment"
#: Sandboxes of ours, by the names that `--sandbox` has for them.
OURS = {"namespace": NAMESPACE, "vm": MACHINE}
#: Memory to set aside for a trial whose task does not say what it needs.
DEFAULT_TRIAL_MEMORY_MB = 4096
#: Trials at once where other machines run them: the engine knows how many these take.
MOST_ELSEWHERE = 10_000


@dataclass(frozen=True)
class Plan:
    """A job that can be started: nothing of it is on disk yet but its staged tasks."""

    request: RunRequest
    tasks: tuple[Staged, ...]
    config: JobConfig
    gateway: Config | None = None

    @property
    def job_dir(self) -> Path:
        """Where Harbor keeps the job."""
        return self.config.jobs_dir / self.config.job_name

    @property
    def n_trials(self) -> int:
        """How many trials the job has in all."""
        return len(self.tasks) * len(self.config.agents) * self.config.n_attempts


def plan(request: RunRequest) -> Plan:
    """Finds and stages the tasks, names agents, sandbox and job. Starts and writes no job.

    Agents' layers, and what machines need, are made where they are missing, once nothing else is
    wrong. Raises UsageError, TaskError, and InfrastructureError when these cannot be made.
    """
    chosen = select([*request.tasks])
    fitness.refuse(chosen, request.sandbox)
    tried = from_trial.find(request.from_trial, request.jobs_dir) if request.from_trial else None
    tasks = [
        stage(task, request.hint, begun=from_trial.begun(task, tried) if tried else None)
        for task in chosen
    ]
    made = assemble(request, tasks, configure(request, tasks))
    if tried:
        from_trial.refuse_others(tried, made.config.agents)
    if request.engine:  # a node makes what it lacks
        return made
    layers.provide(made.config.agents)
    if request.sandbox == "vm":
        from benchflow.run.job import machine_environment

        machine_environment.provide(tasks)
    return made


def assemble(request: RunRequest, tasks: list[Staged], agents: list[AgentConfig]) -> Plan:
    """A job of `agents` × `tasks` × attempts; the request says the rest. Raises UsageError."""
    from harbor.models.job.config import JobConfig, RetryConfig
    from harbor.models.trial.config import TaskConfig, VerifierConfig

    jobs_dir = request.jobs_dir.resolve()
    config = JobConfig(
        job_name=request.job_name or free_name(jobs_dir),
        jobs_dir=jobs_dir,
        n_attempts=request.attempts,
        n_concurrent_trials=request.concurrent
        or (MOST_ELSEWHERE if request.engine else concurrency(tasks)),
        agent_timeout_multiplier=request.agent_timeout_multiplier,
        verifier_timeout_multiplier=request.verifier_timeout_multiplier,
        environment_build_timeout_multiplier=request.build_timeout_multiplier,
        quiet=True,
        retry=RetryConfig(max_retries=0),
        environment=environment(request.sandbox, _options(request, tasks)),
        agents=agents,
        verifier=VerifierConfig(disable=not request.verified),
        tasks=[TaskConfig(path=planned.folder) for planned in tasks],
    )
    if not config.job_name or Path(config.job_name).name != config.job_name:
        raise UsageError(f"--job-name {config.job_name!r} is not a folder's name")
    budget = Budget(
        usd=request.max_usd,
        tokens=request.max_tokens,
        turns=request.max_turns,
        minutes=request.max_minutes,
    )
    gateway = job_gateway.configure(
        agents, budget, limits=request.limits, bodies=request.keep_bodies
    )
    if gateway is None and (budget != Budget() or request.limits):
        raise UsageError(
            "budgets and limits are kept by the model gateway, and no agent here uses it",
            hint="name a model: --model PROVIDER/NAME",
        )
    return Plan(request, tuple(tasks), config, gateway)


def _options(request: RunRequest, tasks: list[Staged]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if request.stall_minutes is not None:
        if request.sandbox != "namespace":
            raise UsageError(
                f"whether an agent makes progress is seen in the namespace sandbox, not in "
                f"{request.sandbox}",
                hint="leave --stall-minutes out; the task's time limit ends an agent that hangs",
            )
        found["stall_minutes"] = request.stall_minutes
    if request.checkpoint_minutes is not None:
        _can_be_credited(request.sandbox, tasks)
        found["checkpoint_minutes"] = request.checkpoint_minutes
    return {**found, **request.sandbox_options}


def _can_be_credited(sandbox: str, tasks: list[Staged]) -> None:
    """Raise UsageError where checkpoints cannot be taken, or could not be verified later."""
    hint = "leave checkpoints out"
    if sandbox not in OURS:
        raise UsageError(
            f"checkpoints are taken in the sandboxes namespace and vm, not in {sandbox}", hint=hint
        )
    for planned in tasks:
        if not planned.task.is_benchflow:
            raise UsageError(
                f"{planned.task.name} is a plain Harbor task: its checkpoints could not be "
                "verified",
                hint=hint,
            )
        if planned.task.steps:
            raise UsageError(
                f"{planned.task.name} has several steps: checkpoints are kept of tasks of one",
                hint=hint,
            )


def environment(sandbox: str, options: dict[str, Any]) -> EnvironmentConfig:
    """Harbor's configuration of a sandbox that is given by name or as `module:Class`."""
    from harbor.models.environment_type import EnvironmentType
    from harbor.models.trial.config import EnvironmentConfig

    kwargs: dict[str, Any] = dict(options)
    if sandbox in OURS:
        return EnvironmentConfig(import_path=OURS[sandbox], kwargs=kwargs)
    if ":" in sandbox:
        from harbor.environments.factory import EnvironmentFactory

        config = EnvironmentConfig(import_path=sandbox, kwargs=kwargs)
        try:
            EnvironmentFactory.resource_capabilities(None, sandbox)
        except (ValueError, ImportError, AttributeError) as error:
            raise UsageError(f"no sandbox {sandbox!r}", hint=str(error)) from error
        return config
    known = sorted(kind.value for kind in EnvironmentType)
    if sandbox not in known:
        raise UsageError(
            f"no sandbox {sandbox!r}",
            hint=f"namespace, vm, module:Class or one of {', '.join(known)}",
        )
    return EnvironmentConfig(type=EnvironmentType(sandbox), kwargs=kwargs)


def concurrency(tasks: list[Staged], a_core: int = 1) -> int:
    """How many trials fit at once: `a_core`, and as many as fit into four fifths of memory."""
    cores = len(os.sched_getaffinity(0)) * a_core
    needed = max(
        (t.task.resources.memory_mb or DEFAULT_TRIAL_MEMORY_MB for t in tasks),
        default=DEFAULT_TRIAL_MEMORY_MB,
    )
    return max(1, min(cores, int(available_mb() * 0.8) // max(needed, 1)))


def free_name(jobs_dir: Path) -> str:
    """A job name after the present time that nobody has taken yet."""
    stem = datetime.now().strftime("%Y-%m-%d__%H-%M-%S")
    name, n = stem, 1
    while (jobs_dir / name).exists():
        n += 1
        name = f"{stem}-{n}"
    return name

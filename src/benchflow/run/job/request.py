"""What a person asks of `benchflow run`, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.gateway.config import Limits

#: How long an agent may make no progress, unless somebody says otherwise.
STALL_MINUTES = 30.0


@dataclass(frozen=True)
class RunRequest:
    """One job: every agent (with every model) tries every task `attempts` times.

    `tasks`: names, globs or paths. `agents`: see `run.agents`. `sandbox`: "namespace", "vm", a name
    of Harbor's or `module:Class`. `concurrent` None: as many as cores and memory allow. `sweep`:
    the name of the sweep that the job belongs to, `shard` (`2/8`) the part of it. `gateway`: models
    are reached through the model gateway; it keeps the `max_…` budgets, for each trial (None is no
    limit), and the `limits` of providers, by model (`run.limits`). `stall_minutes`: an agent
    without progress for so long is ended (None: never). `checkpoint_minutes`: how often the
    deliverable is copied while an agent works (None: never). `engine`: "" for this machine,
    `ray:ADDRESS` for a cluster (`run.job.engine`). `verified` False: what agents deliver is
    kept and nobody judges it, so no trial has a verdict (`results.jobs.trials.is_built`).
    `from_trial`: JOB/TRIAL or a trial's folder, with whose deliverables sequels begin.
    """

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    models: tuple[str, ...] = ()
    attempts: int = 1
    concurrent: int | None = None
    sandbox: str = "namespace"
    hint: int = 0
    job_name: str = ""
    jobs_dir: Path = Path("jobs")
    sweep: str = ""
    shard: str = ""
    stop_after: str = ""
    script: Path | None = None
    agent_options: dict[str, str] = field(default_factory=dict)
    agent_env: dict[str, str] = field(default_factory=dict)
    sandbox_options: dict[str, str] = field(default_factory=dict)
    agent_timeout_multiplier: float = 1.0
    verifier_timeout_multiplier: float = 1.0
    build_timeout_multiplier: float = 1.0
    gateway: bool = True
    max_usd: float | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    max_minutes: float | None = None
    keep_bodies: bool = False
    limits: Mapping[str, Limits] = field(default_factory=dict)
    stall_minutes: float | None = None
    checkpoint_minutes: float | None = None
    engine: str = ""
    verified: bool = True
    from_trial: str = ""

"""Where the trials of a job run: on this machine, or on others.

An engine is attached to Harbor's job before that runs. Board, journal, gateway, budget and result
are the job's, wherever a trial runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchflow.errors import MissingTool, UsageError
from benchflow.run.host import recorded
from benchflow.run.job import prebuild, stillborn
from benchflow.run.live.journal_writer import Phases
from benchflow.run.models.job_gateway import Models
from benchflow.run.resume.kept_markers import Keeping
from benchflow.run.sweep.sweep_budget import Gate

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.models.job.config import JobConfig

RAY = "ray"


@dataclass(frozen=True)
class Running:
    """A job that is about to run, with what keeps its books."""

    job: Job
    phases: Phases
    models: Models | None
    gate: Gate | None


class Engine(Protocol):
    """Runs the trials of one job."""

    def preflight(self, config: JobConfig) -> None:
        """Raise MissingTool where the job cannot run at all."""

    def recover(self, job: Path) -> None:
        """Before a job is continued: take in what an earlier process had of its trials."""

    async def attach(self, running: Running) -> None:
        """Take over the trials of a job. Raises InfrastructureError."""

    async def close(self) -> None:
        """The job is over, however it ended."""


class Local:
    """This machine."""

    def preflight(self, config: JobConfig) -> None:
        """Whether the sandbox can be had here."""
        from harbor.environments.factory import EnvironmentFactory

        environment = config.environment
        try:
            EnvironmentFactory.run_preflight(environment.type, environment.import_path)
        except SystemExit as error:
            raise MissingTool(str(error), hint="see benchflow doctor") from error

    def recover(self, job: Path) -> None:
        """All that there is lies in the job's folder."""

    async def attach(self, running: Running) -> None:
        """Let Harbor run them, in sandboxes that outlive a kill where that is of use."""
        job = running.job
        prebuild.prepare(job.config)
        recorded.attach(job)
        Keeping(job.job_dir, running.phases.tasks).attach(job)
        stillborn.attach(job)

    async def close(self) -> None:
        """Nothing is left to close."""


LOCAL = Local()


def name(engine: str, address: str) -> str:
    """An engine as it stands in a job's record: "" or `ray:ADDRESS`."""
    return f"{RAY}:{address}" if engine == RAY else ""


def same(job: Path, saved: str, wanted: str) -> str:
    """The engine to continue a job with: of the kind that it was started with.

    Raises UsageError for another kind: how many trials run at once is a part of the job.
    """
    if wanted and wanted.partition(":")[0] != saved.partition(":")[0]:
        raise UsageError(
            f"{job}: was started on {'this machine alone' if not saved else 'a cluster'}",
            hint="finish it as it was started: the same command with"
            + ("out --engine ray" if not saved else " --engine ray"),
        )
    return wanted or saved

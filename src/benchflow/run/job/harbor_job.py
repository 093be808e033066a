"""Runs one prepared job on Harbor: quietly, without the internet, and so that a signal ends it."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.errors import BenchflowError, InfrastructureError
from benchflow.run.job.engine import LOCAL, Engine, Running
from benchflow.run.job.worker import Interrupted
from benchflow.run.live.journal_writer import Phases
from benchflow.run.models.job_gateway import Models
from benchflow.run.sweep.sweep_budget import Gate

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.models.job.config import JobConfig


def keep_quiet() -> None:
    """Call before the first import of Harbor: no telemetry, no look-ups at start-up.

    Harbor reports each job to its makers unless HARBOR_TELEMETRY is off; LiteLLM fetches its table
    of prices. A user who sets either variable is obeyed.
    """
    os.environ.setdefault("HARBOR_TELEMETRY", "off")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def run(
    config: JobConfig,
    phases: Phases,
    models: Models | None = None,
    gate: Gate | None = None,
    engine: Engine = LOCAL,
) -> None:
    """Runs the job to its end, or resumes it where its folder says that it stopped; `engine` says
    where its trials run.

    Raises Interrupted after SIGINT, SIGTERM or SIGHUP, once every sandbox is stopped, BudgetSpent
    when `gate` let no further trial start, and InfrastructureError when the job could not continue.
    A trial's own failure is not an exception.
    """
    import rich

    # A log that cannot be written (a full disk) must not bury the error under tracebacks.
    logging.raiseExceptions = False
    rich.reconfigure(quiet=True)  # Harbor draws on rich's global console; the display is ours
    asyncio.run(_main(config, phases, models, gate, engine))


async def _main(
    config: JobConfig,
    phases: Phases,
    models: Models | None,
    gate: Gate | None,
    engine: Engine,
) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        # A second signal finds the default action again: it ends us, and the next command cleans.
        loop.remove_signal_handler(number)
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    try:
        await _run(config, phases, models, gate, engine)
    except asyncio.CancelledError:
        if not received:
            raise
        raise Interrupted(
            f"stopped by {received[0].name}; finished trials are kept",
            hint=f"continue with: benchflow resume {config.job_name}",
        ) from None
    except BaseExceptionGroup as group:
        raise _main_fault(group, config.jobs_dir / config.job_name) from group
    except OSError as error:
        raise _fault(error, config.jobs_dir / config.job_name) from error


async def _run(
    config: JobConfig,
    phases: Phases,
    models: Models | None,
    gate: Gate | None,
    engine: Engine,
) -> None:
    from harbor.job import Job

    engine.preflight(config)
    job: Job = await Job.create(config)
    _no_console_log()
    if models is not None:
        models.attach(job)  # first: a trial's totals are part of what is read at its end
    if gate is not None:
        gate.attach(job, models.client if models is not None else None)
    # Before a trial is called done: who follows it reads all of it then.
    await engine.attach(Running(job, phases, models, gate))
    phases.attach(job)
    try:
        await job.run()
    finally:
        await engine.close()


def _no_console_log() -> None:
    """Harbor's job log is in the job's folder; what it also sends to stderr is not for a person."""
    from harbor.utils.logger import logger

    for handler in [*logger.handlers]:
        if type(handler) is logging.StreamHandler:
            logger.removeHandler(handler)


def _main_fault(group: BaseExceptionGroup[BaseException], job: Path) -> BaseException:
    """The exception to show for the failed trials of a job: ours, the machine's, else the first."""
    leaves = _leaves(group)
    for kind in (BenchflowError, OSError):
        for leaf in leaves:
            if isinstance(leaf, kind):
                return _fault(leaf, job)
    return leaves[0]


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for item in group.exceptions:
        found += _leaves(item) if isinstance(item, BaseExceptionGroup) else [item]
    return found


def _fault(error: BaseException, job: Path) -> BaseException:
    if isinstance(error, BenchflowError) or not isinstance(error, OSError):
        return error
    hint = f"then: benchflow resume {job.name}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return InfrastructureError(
            f"no space left to write {error.filename or job}",
            hint=f"make room in {job.parent}; {hint}",
        )
    return InfrastructureError(f"{error.filename or job}: {error.strerror or error}", hint=hint)

"""Jobs and verifications of gates: read where they are whole, taken up where they stopped."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.results.jobs.lock import hold
from benchflow.results.jobs.partial import Partial
from benchflow.results.model import Job, Trial, Verdict
from benchflow.run.live.progress import Listener

if TYPE_CHECKING:
    from benchflow.run.job.plan import Plan
    from benchflow.run.verify.verification import VerifyRequest


def ended(request: VerifyRequest) -> tuple[Trial | None, Path]:
    """An earlier verification that came to an end, or where the next one is to be.

    One that was cut off or broke keeps its folder as evidence; the next is beside it.
    """
    from benchflow.run.verify.verification import read_again

    folder, n = request.folder, 1
    while folder.exists():
        known = read_again(replace(request, folder=folder))
        if known is not None and known.verdict is not Verdict.ERROR:
            return known, folder
        n += 1
        # No milestone and no exploit has a dot in its name.
        folder = folder.with_name(f"{request.folder.name}.{n}")
    return None, folder


def ended_partly(request: VerifyRequest) -> tuple[Partial | None, Path]:
    """As `ended`, of a verification of the same milestones alone."""
    from benchflow.run.verify.verification import read_partly_again

    folder, n = request.folder, 1
    while folder.exists():
        known = read_partly_again(folder)
        if known is not None and not known.cause and set(known.asked) == {*request.milestones}:
            return known, folder
        n += 1
        folder = folder.with_name(f"{request.folder.name}.{n}")
    return None, folder


def put_aside(folder: Path) -> None:
    """Give a job's folder, where there is one, the next free name. Raises JobInUse."""
    if not folder.is_dir():
        return
    with hold(folder, then="the same command again"):
        names = (folder.with_name(f"{folder.name}.{n}") for n in itertools.count(1))
        folder.rename(next(name for name in names if not name.exists()))


def whole_job(
    folder: Path,
    prepare: Callable[[], Plan],
    wanted: int,
    listener: Listener,
    *,
    is_lost: Callable[[Trial], bool] = lambda trial: trial.verdict is Verdict.ERROR,
) -> Job:
    """The job in `folder`: read when it is whole, resumed when it stopped, else started.

    `wanted`: how many trials it has when it is whole; one that `is_lost` has to be run again.
    """
    from benchflow.results.jobs.trials import read_job
    from benchflow.run.job import jobs

    if not (folder / "benchflow.json").is_file():
        return jobs.start(prepare(), listener)
    found = read_job(folder)
    if len(found.trials) >= wanted and not any(map(is_lost, found.trials)):
        return found
    if not jobs.is_current(folder):  # the same in meaning, but no longer to the byte
        put_aside(folder)
        return jobs.start(prepare(), listener)
    return jobs.resume(folder, listener, retry_errors=True)


def end_now(pool: Executor, under_way: list[Future[Any]]) -> None:
    """Who stops a gate does not wait for verifications to end: their sandboxes are taken away."""
    from benchflow.sandbox import cleanup

    pool.shutdown(wait=False, cancel_futures=True)
    while not all(each.done() for each in under_way):  # wait() never counts what was cancelled
        cleanup.end_own()
        time.sleep(0.5)


def by_argument(trials: tuple[Trial, ...], names: list[str]) -> dict[str, Trial]:
    """Trials by what stands behind the colon of their agent's name (`ladder:kernel`)."""
    found = {trial.agent.partition(":")[2]: trial for trial in trials}
    return {name: found[name] for name in names if name in found}

"""Trials that wait for a driver from outside (docs/external.md), found by name or by themselves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchflow.agents.external import wire
from benchflow.errors import UsageError
from benchflow.results.jobs import lock
from benchflow.results.jobs.layout import folders_in, is_job, is_trial

_LOOK_SECONDS = 0.3
_START = "start one: benchflow run TASK --agent external"


def find(name: str, jobs_dir: Path, patience: float = 0.0) -> Path:
    """The folder of the one trial that waits for a driver.

    `name`: JOB/TRIAL, a job, a trial or a path; "" for whichever waits in `jobs_dir`. Looks again
    for `patience` seconds until there is one. Raises UsageError where none waits, or several do.
    """
    end = time.monotonic() + patience
    while True:
        found = [trial for trial in _trials(name, jobs_dir) if wire.is_waiting(trial)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(f"{trial.parent.name}/{trial.name}" for trial in found)
            raise UsageError(
                f"{len(found)} trials wait for a driver: {names}",
                hint=f"name one: benchflow drive {found[0].parent.name}/{found[0].name} …",
            )
        if time.monotonic() >= end:
            raise _none(name, jobs_dir)
        time.sleep(_LOOK_SECONDS)


def _trials(name: str, jobs_dir: Path) -> Iterator[Path]:
    """Folders in which a trial that `name` means may wait."""
    if not name:
        yield from (trial for job in _jobs(jobs_dir) for trial in folders_in(job))
        return
    for place in (jobs_dir / name, Path(name)):
        folder = place.resolve()
        if folder.is_dir() and is_job(folder):
            yield from folders_in(folder)
            return
        if folder.is_dir():
            yield folder
            return
    if "/" not in name:
        yield from (job / name for job in _jobs(jobs_dir) if (job / name).is_dir())


def _jobs(jobs_dir: Path) -> list[Path]:
    folder = jobs_dir.resolve()
    if not folder.is_dir():
        return []
    return [each for each in folders_in(folder) if lock.is_held(each)]


def _none(name: str, jobs_dir: Path) -> UsageError:
    known = list(_trials(name, jobs_dir)) if name else []
    if name and not known:
        return UsageError(f"no trial {name!r}", hint=f"looked in {jobs_dir}; {_START}")
    at_work = [trial for trial in known if lock.is_held(trial.parent) and not _ended(trial)]
    if at_work or (not name and any(_jobs(jobs_dir))):
        return UsageError(
            f"no trial waits for a driver yet{f' in {name}' if name else ''}",
            hint="its sandbox may be in the making, or its work is verified: benchflow watch; "
            "--wait SECONDS waits for it",
        )
    if name:
        return UsageError(f"{name} waits for no driver: it has ended", hint="benchflow results")
    return UsageError(f"no trial in {jobs_dir} waits for a driver", hint=_START)


def _ended(trial: Path) -> bool:
    return is_trial(trial) and (trial / "result.json").exists()

"""What lies where: jobs in a folder, trials in a job."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import UsageError
from benchflow.results.model import Problem
from benchflow.results.safe_files import UnreadableRecord, read_object


def find_jobs(where: Path) -> list[Path]:
    """Job folders at `where`: itself when it is one, else those directly below, by name.

    Raises UsageError when there is none.
    """
    if not where.is_dir():
        raise UsageError(
            f"{where}: no such folder",
            hint="name a job folder or a folder of jobs; benchflow run makes one",
        )
    if is_job(where):
        return [where]
    jobs = sorted(p for p in where.iterdir() if not p.name.startswith(".") and is_job(p))
    if not jobs:
        raise UsageError(
            f"{where}: no job here", hint="name a job folder, or start one with benchflow run"
        )
    return jobs


def is_job(path: Path) -> bool:
    """A folder that Harbor or we keep a job in, whole or torn."""
    if not path.is_dir() or is_trial(path):
        return False
    if any((path / name).exists() for name in ("benchflow.json", "lock.json", "job.log")):
        return True
    return any(is_trial(child) for child in path.iterdir() if child.is_dir())


def is_trial(path: Path) -> bool:
    """A folder that a trial was started in; one that was passed on may hold its result alone."""
    if (path / "trial.log").exists():
        return True
    result = path / "result.json"
    return result.exists() and ((path / "verifier").is_dir() or _is_trials(result))


def _is_trials(result: Path) -> bool:
    try:
        return {"trial_name", "agent_info"} <= read_object(result).keys()
    except UnreadableRecord:
        return False


@dataclass(frozen=True)
class Layout:
    """What lies in a job folder: `finished` trials have a result, `unfinished` ones have none."""

    finished: tuple[Path, ...]
    unfinished: tuple[Path, ...]
    problems: tuple[Problem, ...]


def layout(job: Path) -> Layout:
    """The trial folders of `job`, by name."""
    return sorted_out(folders_in(job))


def folders_in(job: Path) -> list[Path]:
    """The folders in `job` that may be trials, by name; none of them is opened."""
    with os.scandir(job) as entries:
        names = [e.name for e in entries if not e.name.startswith(".") and e.is_dir()]
    return [job / name for name in sorted(names)]


def sorted_out(folders: Iterable[Path]) -> Layout:
    """Which of `folders` are trials, finished or not."""
    finished: list[Path] = []
    unfinished: list[Path] = []
    problems: list[Problem] = []
    for folder in folders:
        if os.path.exists(f"{folder}/result.json"):  # noqa: PTH110 (there may be 100,000)
            finished.append(folder)
        elif is_trial(folder):
            unfinished.append(folder)
        else:
            problems.append(Problem(folder, "is not a trial folder"))
    return Layout(tuple(finished), tuple(unfinished), tuple(problems))


def read_planned(job: Path) -> tuple[int | None, list[Problem]]:
    """How many trials the job was to have; None where it does not say."""
    path = job / "result.json"
    if not path.exists():
        return None, []
    try:
        planned = read_object(path).get("n_total_trials")
    except UnreadableRecord as error:
        return None, [Problem(path, str(error))]
    return (planned, []) if isinstance(planned, int) else (None, [])

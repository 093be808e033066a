"""Finds tasks: by name, by glob, by path."""

from __future__ import annotations

import difflib
import fnmatch
import os
from pathlib import Path

from benchflow import generators
from benchflow.errors import TaskError, UsageError
from benchflow.tasks.load import load
from benchflow.tasks.model import Task


def root() -> Path:
    """The folder of the catalogue: `$BENCHFLOW_TASKS`, else `tasks/` of this checkout.

    Raises UsageError when there is none.
    """
    given = os.environ.get("BENCHFLOW_TASKS")
    checkout = Path(__file__).resolve().parents[3] / "tasks"
    path = Path(given).resolve() if given else checkout
    if not path.is_dir():
        raise UsageError(
            f"{path}: there is no catalogue here",
            hint="run from a checkout, or set BENCHFLOW_TASKS to a folder of tasks",
        )
    return path


def names(top: Path | None = None) -> list[str]:
    """Names (`<topic>/<name>`) of all tasks below `top`, sorted; nothing is validated."""
    base = top or root()
    return sorted(path.parent.relative_to(base).as_posix() for path in base.glob("*/*/task.toml"))


def catalogue(top: Path | None = None) -> list[Task]:
    """All tasks below `top`, sorted by name. Raises TaskError at the first that is wrong."""
    base = top or root()
    return [load(base / name) for name in names(base)]


def find(name: str) -> Task:
    """One task by catalogue name or by path to its folder. Raises UsageError, TaskError."""
    tasks = select([name])
    if len(tasks) != 1:
        raise UsageError(f"{name!r} names {len(tasks)} tasks", hint="name exactly one")
    return tasks[0]


def in_catalogue(name: str) -> Task | None:
    """The task that the catalogue has under exactly this name; None where it has none that loads,
    or there is no catalogue."""
    try:
        return load(root() / name) if name in names() else None
    except (UsageError, TaskError):
        return None


def select(patterns: list[str]) -> list[Task]:
    """Tasks by names, globs (`repair/*`), instances of generators (`repair/server#17`), or paths of
    any Harbor task folder, without repeats.

    Order: that of the patterns, then by name. Raises UsageError when a pattern matches nothing,
    TaskError that names every task that is wrong.
    """
    tasks, wrong = [], []
    for folder in locate(patterns):
        try:
            tasks.append(load(folder))
        except TaskError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        raise TaskError("\n".join(error.message for error in wrong), hint=wrong[0].hint)
    return tasks


def locate(patterns: list[str]) -> list[Path]:
    """The folders of the tasks that `select` would load. Raises UsageError."""
    chosen: dict[Path, None] = {}
    for pattern in patterns:
        folder = Path(pattern)
        if (folder / "task.toml").is_file():
            chosen[folder.resolve()] = None
        elif below := [path for path in sorted(folder.glob("*/task.toml")) if path.is_file()]:
            chosen |= {config.parent.resolve(): None for config in below}
        elif generators.is_reference(pattern):
            drawn = generators.instances(pattern, root())
            chosen |= {one.folder(root()): None for one in drawn}
        else:
            chosen |= {(root() / name).resolve(): None for name in _named(pattern)}
    return list(chosen)


def _named(pattern: str) -> list[str]:
    known = names()
    matching = fnmatch.filter(known, pattern)
    if not matching:
        matching = [name for name in known if name.split("/")[1] == pattern]
    if not matching:
        if Path(pattern).is_dir():
            raise UsageError(
                f"{pattern}: no task here: neither task.toml nor folders that have one",
                hint="name the folder that task.toml lies in, or see benchflow tasks",
            )
        if Path(pattern).is_file():
            raise UsageError(
                f"{pattern}: a file, and a task is a folder",
                hint="name the folder that task.toml lies in, or see benchflow tasks",
            )
        if generators.is_generator(pattern, root()):
            raise UsageError(
                f"{pattern} is a generator, and draws tasks from seeds",
                hint=f"name a task of it: '{pattern}#1' (benchflow generators {pattern})",
            )
        topics = [f"{topic}/*" for topic in sorted({name.partition("/")[0] for name in known})]
        among = topics if "*" in pattern else known
        close = difflib.get_close_matches(pattern, among, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]}?" if close else "see benchflow tasks"
        raise UsageError(f"no task {pattern!r}", hint=hint)
    return matching

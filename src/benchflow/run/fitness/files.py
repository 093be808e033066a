"""The files that a plain Harbor task needs to be run and judged."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.run.fitness import reading
from benchflow.run.fitness.findings import Finding, doubtful, fatal

if TYPE_CHECKING:
    from harbor.models.task.config import TaskConfig


def check(folder: Path, config: TaskConfig | None) -> list[Finding]:
    """Files that are missing, are something else, or cannot be read. Without `config` only what
    every task needs."""
    found = list(_unreadable(folder))
    if config is None or found:
        return found
    for directory in [folder, *(folder / "steps" / step.name for step in config.steps or [])]:
        found += _instruction(folder, directory, bool(config.steps))
    found += _tests(folder, config)
    found += _scripts(folder, config)
    if not found:
        found += _harbor(folder)
    if not (folder / "solution" / "solve.sh").is_file() and not config.steps:
        message = "the file is missing: the oracle has nothing to run"
        found.append(doubtful("solution/solve.sh", "", message, "write the solution"))
    return found


def _unreadable(folder: Path) -> Iterator[Finding]:
    """Harbor reads every file of a task for its digest, of every task before the first trial."""
    errors: list[OSError] = []
    for directory, names, files in os.walk(folder, onerror=errors.append):
        for name in (*names, *files):
            path = Path(directory) / name
            where = path.relative_to(folder).as_posix()
            if path.is_symlink() or path.is_dir():
                continue
            if not path.is_file():
                message = "neither a file nor a folder"
                yield fatal(where, "", message, "replace it by a file, or take it out")
            elif not os.access(path, os.R_OK):
                yield fatal(where, "", "you may not read it", f"chmod a+r {path}")
    for error in errors:
        where = Path(str(error.filename)).relative_to(folder).as_posix()
        yield fatal(where, "", f"cannot be read: {error.strerror}", "make it readable")


def _instruction(folder: Path, directory: Path, has_steps: bool) -> Iterator[Finding]:
    path = directory / "instruction.md"
    where = path.relative_to(folder).as_posix()
    if directory == folder and has_steps:
        return
    if not path.is_file():
        yield fatal(where, "", "the file is missing", "write what the agent is to do")
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        yield fatal(where, "", "not UTF-8", "write it as UTF-8")
        return
    if not text.strip():
        yield doubtful(where, "", "the file is empty", "write what the agent is to do")


def _tests(folder: Path, config: TaskConfig) -> Iterator[Finding]:
    from harbor.models.task.paths import TaskPaths
    from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

    paths = TaskPaths(folder)
    for step in reading.steps(config):
        try:
            definition = resolve_verifier_environment_definition(config, paths, step)
        except ValueError as error:  # a link that leads out of the task
            yield fatal("tests", "", str(error), "replace the link by what it leads to")
            continue
        if definition is not None and definition.bundled_tests:
            continue
        shared = paths.test_path.is_file()
        own = step is not None and (paths.step_tests_dir(step.name) / "test.sh").is_file()
        if not (shared or own):
            where = f"steps/{step.name}/tests/test.sh" if step else "tests/test.sh"
            fix = "write it: it puts a reward into /logs/verifier/reward.txt"
            yield fatal(where, "", "the file is missing: nobody could judge", fix)


def _scripts(folder: Path, config: TaskConfig) -> Iterator[Finding]:
    """Scripts that bash does not read as they are meant."""
    steps = [folder / "steps" / step.name for step in config.steps or []]
    for name, make in {"tests/test.sh": fatal, "solution/solve.sh": doubtful}.items():
        for path in (base / name for base in (folder, *steps)):
            data = path.read_bytes() if path.is_file() else b"-"
            where = path.relative_to(folder).as_posix()
            if not data.strip():
                yield make(where, "", "the file is empty", "write it")
            elif b"\r\n" in data:
                message = "lines end in CR LF: bash takes the CR for a part of the last word"
                yield make(where, "", message, f"sed -i 's/\\r$//' {where}")


def _harbor(folder: Path) -> Iterator[Finding]:
    """Whatever else Harbor's own reading of the folder does not like."""
    from harbor.models.task.task import Task

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Task(folder)
    except (OSError, ValueError, RuntimeError) as error:
        yield fatal("task.toml", "", str(error), "see Harbor's documentation of tasks")

"""What `benchflow tasks validate` does: every task is read, whatever is wrong with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchflow.cli.options import print_json
from benchflow.errors import TaskError


def validate(patterns: list[str], *, as_json: bool) -> int:
    """Print what is right, and name what is not; returns the exit status. Raises UsageError, and
    in text TaskError that names every problem."""
    from benchflow.run.job.harbor_job import keep_quiet
    from benchflow.tasks import locate

    keep_quiet()
    valid: list[str] = []
    wrong: list[TaskError] = []
    listed: list[dict[str, Any]] = []
    for folder in locate(patterns):
        try:
            name, kind = _checked(folder, listed)
        except TaskError as error:
            wrong.append(error)
            continue
        valid.append(name)
        if not as_json:
            click.echo(f"ok  {name}  {kind}")
    if as_json:
        print_json({"schema": 1, "valid": valid, "problems": listed})
        return TaskError.exit_code if wrong else 0
    if wrong:
        raise TaskError("\n".join(error.message for error in wrong), hint=wrong[0].hint)
    return 0


def _checked(folder: Path, listed: list[dict[str, Any]]) -> tuple[str, str]:
    """Name and kind of a task without problems. Raises TaskError; adds to `listed`."""
    from benchflow.run import fitness
    from benchflow.tasks import load, stage

    try:
        task = load(folder)
        stage(task)
    except TaskError as error:
        listed.append({"task": str(folder), "message": error.message, "hint": error.hint})
        raise
    found = fitness.examine(task, fitness.sandbox_for(task))
    for problem in found.problems:
        listed.append({"task": str(folder), "is_fatal": problem in found.unusable, **vars(problem)})
    if found.problems:
        raise TaskError(
            fitness.told(task, found.problems),
            hint="fix what is named; docs/reference/task-toml.md has every key",
        )
    count = f"{task.n_checks} {'check' if task.n_checks == 1 else 'checks'}"
    return task.name, count if task.is_benchflow else "a plain Harbor task"

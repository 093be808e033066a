"""One thing found out about a task."""

from __future__ import annotations

from typing import NamedTuple

from benchflow.tasks import Problem

CONFIG = "task.toml"


class Finding(NamedTuple):
    """`is_fatal`: no trial of the task can come to a verdict that means anything."""

    problem: Problem
    is_fatal: bool


def fatal(file: str, key: str, message: str, fix: str) -> Finding:
    """What makes a task unusable here."""
    return Finding(Problem(file, key, message, fix), True)


def doubtful(file: str, key: str, message: str, fix: str) -> Finding:
    """What goes wrong although the task runs."""
    return Finding(Problem(file, key, message, fix), False)

"""Puts measured times into task.toml, comments and order kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchflow.authoring.gate import Status
from benchflow.authoring.gate_rules import (
    AGENT_MARGIN,
    MEASURE_AGAIN,
    VERIFIER_MARGIN,
    budget,
    times,
)
from benchflow.errors import UsageError
from benchflow.results.model import Trial, Verdict
from benchflow.tasks import Task


def write(task: Task, oracles: Sequence[Trial]) -> list[str]:
    """Writes what the oracle's trials took; returns one line a change, empty for none.

    `oracle_minutes` becomes the slowest oracle's (see `judge.times`); a time limit is raised to its
    margin × what was measured, to a whole minute, and never lowered: an agent needs longer than an
    oracle. Raises UsageError for a plain Harbor task, when no oracle resolved, and where others had
    the processors so that `judge.budget` has nothing to judge.
    """
    import tomlkit

    if not task.is_benchflow:
        raise UsageError(f"{task.name} is a plain Harbor task", hint="set its limits by hand")
    solved = [trial for trial in oracles if trial.verdict is Verdict.RESOLVED]
    if not solved:
        raise UsageError(
            f"no oracle of {task.name} resolved",
            hint="make it pass first: benchflow check TASK --gate oracle",
        )
    measured = budget(task, solved)
    if measured.status is Status.ERROR:
        raise UsageError(f"{task.name}: {measured.findings[0]}", hint=MEASURE_AGAIN)
    agent, verifier = times(solved)
    path = task.path / "task.toml"
    document: Any = tomlkit.parse(path.read_text(encoding="utf-8"))
    changes: list[str] = []

    def put(table: Any, name: str, key: str, value: float) -> None:
        if table[key] != value:
            changes.append(f"{name}.{key}: {table[key]} → {value}")
            table[key] = value

    minutes = max(0.1, round(agent / 60, 1))
    ours = document["metadata"]["benchflow"]
    put(ours, "metadata.benchflow", "oracle_minutes", minutes)
    for name, least in (("agent", agent * AGENT_MARGIN), ("verifier", verifier * VERIFIER_MARGIN)):
        limit = document[name]["timeout_sec"]
        put(document[name], name, "timeout_sec", max(limit, math.ceil(least / 60) * 60))
    if changes:
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
    return changes

"""Trials of several parts: cut off while the agent worked, and gone on with (docs/models.md)."""

from __future__ import annotations

from pathlib import Path

from benchflow.results.files import UnreadableRecord, read_object
from benchflow.results.values import count, number

#: `<trial>/continued.json`
NAME = "continued.json"


def parts(trial: Path) -> int:
    """In how many parts the agent of `trial` worked; 1 for nearly all."""
    return count(_record(trial).get("parts")) or 1


def seconds_before(trial: Path) -> float:
    """What the agent's earlier parts took: Harbor's record has the last one alone."""
    return number(_record(trial).get("agent_seconds_before")) or 0.0


def _record(trial: Path) -> dict[str, object]:
    try:
        return read_object(trial / NAME)
    except UnreadableRecord:
        return {}

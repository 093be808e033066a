"""Trials that were cut off and resumed (docs/models.md)."""

from __future__ import annotations

from pathlib import Path

from benchflow.results.json_values import count, number
from benchflow.results.safe_files import UnreadableRecord, read_object

#: `<trial>/continued.json`
NAME = "continued.json"


def parts(trial: Path) -> tuple[int, float]:
    """In how many parts the agent of `trial` worked (1 for nearly all), and the seconds that
    Harbor's record knows nothing of: of all parts but the last, or of all where the trial was cut
    off after the agent's end."""
    try:
        record = read_object(f"{trial}/{NAME}")
    except UnreadableRecord:
        return 1, 0.0
    return count(record.get("parts")) or 1, number(record.get("agent_seconds_before")) or 0.0

"""Faults of ours in a trial that Harbor has no field for: `<trial>/faults.json`."""

from __future__ import annotations

from pathlib import Path

from benchflow.base.atomic import write_json
from benchflow.base.text import one_line
from benchflow.results.safe_files import UnreadableRecord, read_object

NAME = "faults.json"
#: Its name in trials of before 0.1.0: there a fault must not turn into a failure of the agent's.
_OLD_NAME = "benchflow.json"


def add_fault(trial: Path, during: str, error: BaseException) -> None:
    """Writes down that infrastructure failed in `trial`. Raises OSError."""
    path = trial / NAME
    faults = read_object(path)["faults"] if path.exists() else []
    fault = {"during": during, "kind": type(error).__name__, "message": str(error)}
    write_json(path, {"schema": 1, "faults": [*faults, fault]})


def first_fault(trial: Path) -> tuple[str, str] | None:
    """Class name and message of the first fault of `trial`; None where there was none."""
    try:
        faults = read_object(_written(trial)).get("faults")
    except UnreadableRecord:
        return None
    if not isinstance(faults, list) or not faults or not isinstance(faults[0], dict):
        return None
    fault = faults[0]
    return str(fault.get("kind", "?")), one_line(f"{fault.get('during')}: {fault.get('message')}")


def _written(trial: Path) -> Path:
    path = trial / NAME
    return path if path.exists() else trial / _OLD_NAME

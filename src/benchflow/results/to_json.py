"""Finished work as JSON: the shape behind every `--json` (docs/results.md)."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchflow.results.model import Job, Trial, Verdict

SCHEMA = 1


def plain(value: Any) -> Any:
    """Dataclasses, structs, enums and paths as JSON's own types, recursively."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def jobs(found: list[Job]) -> dict[str, Any]:
    """What `benchflow results --json` prints."""
    return {"schema": SCHEMA, "jobs": [job(item) for item in found]}


def job(found: Job) -> dict[str, Any]:
    """One job; `counts` are over its finished trials."""
    dumped: dict[str, Any] = plain(found)
    dumped["trials"] = [trial(each) for each in found.trials]
    counts = {verdict.value: found.count(verdict) for verdict in Verdict}
    return {"name": found.name, "counts": counts, **dumped}


def trial(found: Trial) -> dict[str, Any]:
    """One trial; `n_passed`, `n_milestones` and `furthest` sum its ladder up."""
    dumped: dict[str, Any] = plain(found)
    dumped["n_passed"], dumped["n_milestones"] = found.n_passed, len(found.milestones)
    dumped["furthest"] = found.furthest
    return dumped

"""The journal of a job, `<job>/phases.jsonl`: which trial is in which phase, to follow it.

One line an event, appended by the process that runs the job; nothing of a job depends on it.
Other harnesses write none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.results.safe_files import UnreadableRecord, read_objects

NAME = "phases.jsonl"
_SCHEMA = 1
_MAX_BYTES = 64 << 20


def enter(job: Path, trial: str, phase: str, limit: float) -> None:
    """Write down that a trial has just entered a phase of at most `limit` seconds (0: no limit).

    A disk that takes no more costs the onlooker his view, and nobody else.
    """
    record = {
        "schema": _SCHEMA,
        "t": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "trial": trial,
        "phase": phase,
        "limit": round(limit, 3),
    }
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(job / NAME, flags), "wb") as file:
            file.write(json.dumps(record).encode() + b"\n")
    except OSError:
        return


def last(events: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The last event of each trial, by the trial's name; what is no event of ours is left out."""
    return {event["trial"]: event for event in events if is_event(event)}


def is_event(event: Mapping[str, Any]) -> bool:
    """Whether a line of the journal is one that we wrote."""
    return event.get("schema") == _SCHEMA and isinstance(event.get("trial"), str)


def read(job: Path) -> dict[str, Mapping[str, Any]]:
    """`last` of the whole journal of `job`; empty where it has none."""
    return last(_events(job / NAME))


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    with suppress(UnreadableRecord):
        for _, event in read_objects(path, _MAX_BYTES):
            if not isinstance(event, UnreadableRecord):  # the last line may be under way
                yield event

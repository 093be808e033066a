"""How far a trial is: the phases that it goes through, and what its verifier tells as it goes.

A verifier appends one JSON object a line to `progress.jsonl` (docs/checks.md); this is the one
place that knows what they mean. What is in them may be hostile.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from benchflow.base.text import one_line
from benchflow.results.jobs.ladder import STATUSES
from benchflow.results.json_values import number, word

NAME = "progress.jsonl"
#: Bytes of it that are read.
MAX_BYTES = 8 << 20


class Phase(StrEnum):
    """Where a trial is. `image`: its sandbox is made ready. `boot` is our verifier's (machines are
    booted and questioned), `verifier` that of a plain Harbor task. `lost`: the machine that it ran
    on is gone; it begins again, under another name."""

    IMAGE = "image"
    AGENT = "agent"
    HAND_OVER = "hand-over"
    BOOT = "boot"
    VERIFIER = "verifier"
    STOPPING = "stopping"
    DONE = "done"
    LOST = "lost"


class Reached(NamedTuple):
    """A milestone that was decided. `seconds`: from the verifier's start; None: it did not say."""

    id: str
    status: str
    seconds: float | None


def reached(event: Mapping[str, Any]) -> Reached | None:
    """The milestone that an event decides; None for any other event."""
    if event.get("event") != "milestone" or event.get("status") not in STATUSES:
        return None
    return Reached(word(event.get("id"), 80), str(event["status"]), number(event.get("t")))


def told(event: Mapping[str, Any]) -> str:
    """An event in a few words; empty for one that tells a person nothing."""
    match event.get("event"):
        case "calibrated":
            return f"this host runs at {event.get('speed', '?')}× the reference speed"
        case "boot":
            machine = one_line(str(event.get("machine", "machine")), 40)
            return f"boot {one_line(str(event.get('n', '')), 8)} of {machine}"
        case "check":
            return "check " + one_line(str(event.get("name", "")), 60)
        case _:
            return ""

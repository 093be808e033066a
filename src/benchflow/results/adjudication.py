"""What a review of a verdict found: `<trial>/adjudication.json`, or that key of a listed trial.

People write it after they looked at a failure: was it the agent, the instruction or the check?
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchflow.results.json_values import count, number, sequence, word
from benchflow.results.model import Verdict
from benchflow.results.safe_files import Absent, UnreadableRecord, read_object

NAME = "adjudication.json"
FAULTS = ("agent", "instruction", "check", "generator", "verifier")


class Adjudication(Struct, frozen=True):
    """`first`: the verdict before, with its reward and how many milestones had passed.

    `fault`: whose it was, of FAULTS. `verified_version`: of the task, where checks of another
    version than the trial's gave what stands. `altered`: what was changed in the deliverable by
    hand before it was verified again; empty where nothing was. `note`: what else a reader needs.
    """

    first: Verdict
    fault: tuple[str, ...]
    why: str
    first_reward: float | None = None
    first_passed: int | None = None
    verified_version: str = ""
    altered: str = ""
    note: str = ""

    @property
    def clears_agent(self) -> bool:
        """Whether nothing of the failure was put on the agent."""
        return "agent" not in self.fault


def of(value: Mapping[str, Any]) -> Adjudication | None:
    """What was written down; None where it says neither verdict nor fault that we know."""
    first = word(value.get("first"), 20)
    fault = tuple(word(one, 20) for one in sequence(value.get("fault")))
    if first not in {*Verdict} or not fault or not set(fault) <= set(FAULTS):
        return None
    return Adjudication(
        first=Verdict(first),
        fault=fault,
        why=word(value.get("why"), 1000),
        first_reward=number(value.get("first_reward")),
        first_passed=count(value.get("first_passed")),
        verified_version=word(value.get("verified_version"), 40),
        altered=word(value.get("altered"), 400),
        note=word(value.get("note"), 400),
    )


def told(trial: Path) -> Adjudication | None:
    """That of the trial in this folder; None without one. Raises UnreadableRecord."""
    try:
        value = read_object(f"{trial}/{NAME}")
    except Absent:
        return None
    found = of(value)
    if found is None:
        raise UnreadableRecord("names no first verdict, or no fault that is known")
    return found

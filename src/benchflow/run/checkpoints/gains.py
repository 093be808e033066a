"""From what each checkpoint was worth to what each step of the agent gained. Pure.

A milestone may be lost again, so it is credited where it held *first*, and `lost_again` says the
rest. Rewards are differences between neighbours and may be below 0: their sum is the final reward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchflow.results.json_values import moment
from benchflow.results.readers.atif_document import Document
from benchflow.results.readers.atif_steps import numbered


@dataclass(frozen=True)
class Point:
    """One verdict on the agent's work. `checkpoint` None: on what was handed over at the end.

    `seconds`: of the agent's time; `step`: None where not known; `milestones`: id → status.
    """

    checkpoint: int | None
    seconds: float | None
    step: int | None
    reward: float
    milestones: Mapping[str, str]


class Steps:
    """When the agent's own steps were made."""

    def __init__(self, chain: Iterable[Document]) -> None:
        self._stamps = [
            (place, moment(step.timestamp))
            for place, step in numbered(chain)
            if step.source == "agent"
        ]

    @property
    def last(self) -> int | None:
        """The last one; None where there is none."""
        return self._stamps[-1][0] if self._stamps else None

    def at(self, time: datetime) -> int | None:
        """The last one whose time stamp is not later than `time`, else the first; None where no
        step has a time stamp with its zone."""
        known = [(n, stamp) for n, stamp in self._stamps if stamp and stamp.tzinfo]
        if not known:
            return None
        return next((n for n, stamp in reversed(known) if stamp <= time), known[0][0])


def first_held(milestone: str, points: Sequence[Point]) -> dict[str, Any]:
    """Where it first held and whether it was lost again; both null where it never did."""
    held = [point.milestones.get(milestone) == "passed" for point in points]
    if True not in held:
        return {"first_held": None, "lost_again": None}
    place = held.index(True)
    first = points[place]
    return {
        "first_held": {
            "checkpoint": first.checkpoint,
            "seconds": None if first.seconds is None else round(first.seconds, 3),
            "step": first.step,
        },
        "lost_again": not all(held[place:]),
    }


def gained(points: Sequence[Point]) -> list[dict[str, Any]] | None:
    """What the reward rose or fell by, by step, in order; None where a step is not known."""
    found: dict[int, float] = {}
    before = 0.0
    for point in points:
        if point.reward == before:
            continue
        if point.step is None:
            return None
        found[point.step] = found.get(point.step, 0.0) + point.reward - before
        before = point.reward
    return [
        {"step": step, "reward_gained": round(gain, 9)}
        for step, gain in sorted(found.items())
        if round(gain, 9)
    ]

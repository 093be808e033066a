"""Which parts an instance has: drawn under the demands of its level, each choice explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from benchflow.errors import TaskError
from benchflow.generators.draw import Stream
from benchflow.generators.kinds import KINDS, Kind
from benchflow.generators.parts import Part

_TRIES = 200


class Level(BaseModel):
    """What a level asks of an instance; the same words in every generator."""

    model_config = ConfigDict(extra="forbid")

    parts: int = Field(ge=1)
    layers: int = Field(ge=1)
    """At least so many."""
    silent: int = Field(0, ge=0)
    """At least so many of which nothing complains at the first start."""
    pairs: int = Field(0, ge=0)
    """At least so many pairs that make each other harder."""
    blocking: int = Field(1, ge=0)
    """At least so many without whose repair nobody gets to a login: what was handed out earns
    little as it is."""


@dataclass(frozen=True)
class Chosen:
    """A part, and why it is there."""

    part: Part
    why: str


def compose(
    parts: dict[str, Part],
    level: Level,
    stream: Stream,
    blocks: Callable[[Part], bool],
    kind: Kind = KINDS["faults"],
) -> list[Chosen]:
    """Parts for one instance, in a fixed order. Raises TaskError where the demands cannot be met,
    with the demand that failed last."""
    missing = ""
    for _ in range(_TRIES):
        chosen = _attempt(parts, level, stream, blocks, kind)
        missing = _missing([one.part for one in chosen], level, blocks)
        if not missing:
            return sorted(chosen, key=lambda one: one.part.name)
    raise TaskError(f"no draw meets the level after {_TRIES} tries: {missing}")


def pairs(parts: Iterable[Part]) -> list[tuple[Part, Part]]:
    """The pairs that make each other harder."""
    there = {part.name: part for part in parts}
    return [(part, there[o]) for part in there.values() for o in part.interacts if o in there]


def _missing(parts: list[Part], level: Level, blocks: Callable[[Part], bool]) -> str:
    seen = {
        "parts": len(parts),
        "layers": len({part.layer for part in parts}),
        "silent": sum(part.silent for part in parts),
        "pairs": len(pairs(parts)),
        "blocking": sum(blocks(part) for part in parts),
    }
    for name, count in seen.items():
        wanted = getattr(level, name)
        if count < wanted or (name == "parts" and count > wanted):
            return f"{count} of {wanted} {name}"
    return ""


def _attempt(
    parts: dict[str, Part],
    level: Level,
    stream: Stream,
    blocks: Callable[[Part], bool],
    kind: Kind,
) -> list[Chosen]:
    order = stream.shuffled(list(parts.values()))
    chosen: dict[str, Chosen] = {}

    def fits(part: Part) -> bool:
        return part.name not in chosen and not part.conflicts & chosen.keys()

    def take(part: Part, why: str) -> None:
        if fits(part) and len(chosen) < level.parts:
            chosen[part.name] = Chosen(part, why)

    for part, other in stream.shuffled(pairs(order)):
        there = [one.part for one in chosen.values()]
        if len(pairs(there)) >= level.pairs:
            break
        if fits(part) and fits(other) and other.name not in part.conflicts:
            take(part, f"the pair with {other.name}: {part.interacts[other.name]}")
            take(other, f"the pair with {part.name}: {part.interacts[other.name]}")
    for part in order:
        if sum(blocks(one.part) for one in chosen.values()) >= level.blocking:
            break
        if blocks(part):
            take(part, kind.blocking)
    for part in order:
        if sum(one.part.silent for one in chosen.values()) >= level.silent:
            break
        if part.silent:
            take(part, kind.silent)
    while len(chosen) < level.parts:
        used = [one.part.layer for one in chosen.values()]
        left = [part for part in order if fits(part)]
        if not left:
            break
        # The layer that has fewest; the drawn order decides between those.
        part = min(left, key=lambda one: used.count(one.layer))
        take(part, f"its layer, {part.layer}")
    return list(chosen.values())

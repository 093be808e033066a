"""Somebody who votes, in Python, as a browser would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.people.rater import Rater

from benchflow.arena.pack import Arena, Key

#: question, left side, right side → answer.
Taste = Callable[[str, str, str], str]


def votes(
    arena: Arena, key: Key, taste: Taste, *, seconds: int = 40, turned: bool = False, **more: Any
) -> tuple[Rater, dict[str, Any]]:
    """A voter and the body of their votes; of a pair with a blank side the other is preferred."""
    rater = Rater()
    found = []
    for pair in arena.pairs:
        left, right = pair.sides[::-1] if turned else pair.sides
        choices = {}
        for question in pair.questions:
            blank = [not key.sides[side].uid for side in (left, right)]
            choices[question.id] = (
                ("right" if blank[0] else "left") if any(blank) else taste(question.id, left, right)
            )
        found.append(
            {"pair": pair.id, "left": left, "choices": choices, "seconds": seconds,
             "played": 5, "remark": ""}
        )  # fmt: skip
    body = rater.body(arena.digest, kind="votes", votes=found, **more)
    return rater, {**body, "seconds": seconds * len(found)}


def prefers(key: Key, name: str) -> Taste:
    """Always whose `who` or trial has `name` in it, where one of the two has."""

    def taste(question: str, left: str, right: str) -> str:
        has = [name in key.sides[side].who + key.sides[side].trial for side in (left, right)]
        return "neither" if has[0] == has[1] else "left" if has[0] else "right"

    return taste


def write(folder: Path, rater: Rater, body: dict[str, Any], **changed: Any) -> Path:
    path = folder / f"votes-{body['id'][:8]}.json"
    path.write_bytes(rater.envelope(json.loads(json.dumps(body)), **changed))
    return path

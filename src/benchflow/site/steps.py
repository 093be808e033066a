"""A trajectory in chunks, each a script that a page loads when its steps come into sight."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from benchflow.results.records import Step

#: Steps a file: small enough to be read between two frames, large enough to keep files few.
CHUNK = 250

_encode = json.JSONEncoder(ensure_ascii=False).encode


def scripts(name: str, steps: Iterable[Step]) -> Iterator[tuple[str, str, int]]:
    """(file, text, number of steps) for each chunk; `name` holds `{}` for the chunk's number.

    A step is a line of JSON without what is empty, so that other programs can read the file too.
    """
    held: list[str] = []
    number = 0
    for step in steps:
        held.append(_encode(_plain(step)))
        if len(held) == CHUNK:
            yield _chunk(name.format(number), held)
            held, number = [], number + 1
    if held:
        yield _chunk(name.format(number), held)


def _chunk(file: str, lines: list[str]) -> tuple[str, str, int]:
    body = ",\n".join(lines)
    return file, f"benchflow.put({json.dumps(file)}, [\n{body}\n]);\n", len(lines)


def _plain(step: Step) -> dict[str, Any]:
    whole: dict[str, Any] = {"n": step.n, "role": step.role}
    for key in ("text", "reasoning", "model", "subagent"):
        if value := getattr(step, key):
            whole[key] = value
    if step.calls:
        whole["calls"] = [
            {
                key: value
                for key, value in (
                    ("tool", call.tool),
                    ("arguments", call.arguments),
                    ("result", call.result),
                )
                if value
            }
            for call in step.calls
        ]
    for key in ("at", "input_tokens", "output_tokens", "cost_usd"):
        if (value := getattr(step, key)) is not None:
            whole[key] = value
    if step.copied:
        whole["copied"] = True
    return whole

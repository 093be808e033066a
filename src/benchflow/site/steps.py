"""A trajectory in chunks, each a script that a page loads when its steps come into sight."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from benchflow.results.records import Call, Step

#: Steps a file: small enough to be read between two frames, large enough to keep files few.
CHUNK = 250

_quoted = json.encoder.encode_basestring


def scripts(name: str, steps: Iterable[Step]) -> Iterator[tuple[str, str, int]]:
    """(file, text, number of steps) for each chunk; `name` holds `{}` for the chunk's number.

    A step is a line of JSON without what is empty, so that other programs can read the file too.
    """
    held: list[str] = []
    number = 0
    for step in steps:
        held.append(_line(step))
        if len(held) == CHUNK:
            yield _chunk(name.format(number), held)
            held, number = [], number + 1
    if held:
        yield _chunk(name.format(number), held)


def _chunk(file: str, lines: list[str]) -> tuple[str, str, int]:
    body = ",\n".join(lines)
    return file, f"benchflow.put({json.dumps(file)}, [\n{body}\n]);\n", len(lines)


def _line(step: Step) -> str:
    """The step as JSON; written out, because there are millions and an encoder is slow to start."""
    parts = [f'"n": {step.n}, "role": {_quoted(step.role)}']
    parts += [
        f'"{key}": {_quoted(value)}'
        for key in ("text", "reasoning", "model", "subagent")
        if (value := getattr(step, key))
    ]
    if step.calls:
        parts.append(f'"calls": [{", ".join(map(_call, step.calls))}]')
    # Numbers are whole or finite: as Python writes them they are JSON.
    parts += [
        f'"{key}": {value!r}'
        for key in ("at", "input_tokens", "output_tokens", "cost_usd")
        if (value := getattr(step, key)) is not None
    ]
    if step.copied:
        parts.append('"copied": true')
    return f"{{{', '.join(parts)}}}"


def _call(call: Call) -> str:
    parts = (
        f'"{key}": {_quoted(value)}'
        for key in ("tool", "arguments", "result")
        if (value := getattr(call, key))
    )
    return f"{{{', '.join(parts)}}}"

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
    n, role, text, reasoning, calls, at, model, inputs, outputs, cost, subagent, copied = step
    said = f', "text": {_quoted(text)}' if text else ""
    line = f'{{"n": {n}, "role": {_quoted(role)}{said}'
    if reasoning:
        line += f', "reasoning": {_quoted(reasoning)}'
    if model:
        line += f', "model": {_quoted(model)}'
    if subagent:
        line += f', "subagent": {_quoted(subagent)}'
    if calls:
        line += f', "calls": [{", ".join([_call(call) for call in calls])}]'
    # Numbers are whole or finite: as Python writes them they are JSON.
    if at is not None:
        line += f', "at": {at!r}'
    if inputs is not None:
        line += f', "input_tokens": {inputs!r}'
    if outputs is not None:
        line += f', "output_tokens": {outputs!r}'
    if cost is not None:
        line += f', "cost_usd": {cost!r}'
    return line + (', "copied": true}' if copied else "}")


def _call(call: Call) -> str:
    tool, arguments, result = call
    if tool and arguments and result:
        said = f'"arguments": {_quoted(arguments)}, "result": {_quoted(result)}'
        return f'{{"tool": {_quoted(tool)}, {said}}}'
    parts = [f'"tool": {_quoted(tool)}'] if tool else []
    if arguments:
        parts.append(f'"arguments": {_quoted(arguments)}')
    if result:
        parts.append(f'"result": {_quoted(result)}')
    return f"{{{', '.join(parts)}}}"

"""A trajectory in chunks, each a script that a page loads when its steps come into sight."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import batched

from msgspec.json import Encoder

from benchflow.results.records import Step

#: Steps a file: small enough to be read between two frames, large enough to keep files few.
CHUNK = 250

_lines = Encoder().encode_lines


def scripts(name: str, steps: Iterable[Step]) -> Iterator[tuple[str, str, int]]:
    """(file, text, number of steps) for each chunk; `name` holds `{}` for the chunk's number.

    A step is a line of JSON without what is empty, so that other programs can read the file too.
    """
    for number, held in enumerate(batched(steps, CHUNK)):
        file = name.format(number)
        # No line holds a line's end: JSON writes it as two characters.
        body = _lines(held).replace(b"\n", b",\n").removesuffix(b",\n").decode()
        yield file, f"benchflow.put({json.dumps(file)}, [\n{body}\n]);\n", len(held)

"""Server-sent events: writing them, and reading them from bytes that come in any pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_MAX_EVENT = 64 << 20


def encode(data: Any, event: str = "") -> bytes:
    """One event whose data is `data` as JSON on one line; a string is sent as it is."""
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {text}\n\n".encode()


class Decoder:
    """Yields the data of each event as its last byte arrives. Event names and comments are left
    out: each of the four protocols repeats the kind inside its data."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that `chunk` completes. Raises ValueError for an event beyond 64 MiB."""
        self._rest += chunk
        if len(self._rest) > _MAX_EVENT:
            raise ValueError("an event of the stream is larger than 64 MiB")
        # A lone carriage return ends a line too (WHATWG HTML, 9.2.6); no provider sends one.
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))

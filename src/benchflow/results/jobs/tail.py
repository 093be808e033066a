"""Follows a verifier's `progress.jsonl` while it grows. What is in it may be hostile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_READ_BYTES = 1 << 20
_LINE_BYTES = 1 << 16


class Tail:
    """Reads what was appended to a JSON-lines file since the last look."""

    def __init__(self, path: Path, *, line_bytes: int = _LINE_BYTES) -> None:
        self._path = path
        self._line_bytes = line_bytes
        self._offset = 0
        self._rest = b""

    def all_events(self) -> Iterator[dict[str, Any]]:
        """The same, to the end of the file as it is now."""
        while True:
            before = self._offset
            yield from self.events()
            if self._offset == before:
                return

    def events(self) -> Iterator[dict[str, Any]]:
        """The complete new lines that are JSON objects; anything else is passed over.

        Never follows a link, never blocks on a pipe, reads at most a mebibyte a call.
        """
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self._path, flags)
        except OSError:
            return
        try:
            fresh = os.pread(descriptor, _READ_BYTES, self._offset)
        except OSError:
            return
        finally:
            os.close(descriptor)
        self._offset += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        if len(self._rest) > self._line_bytes:
            self._rest = b""
        for line in lines:
            if len(line) > self._line_bytes:
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value

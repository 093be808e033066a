"""The ledger: one JSON line for everything that a gateway did, appended and never changed.

Every total is a fold over its lines (`meter`), so a gateway that was killed continues exactly where
its last whole line stands. A line is one `write` to a file opened for appending. A torn one (the
machine died in the middle, the disk was full) is closed by a line end before the next, and named.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.errors import InfrastructureError

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Torn:
    """A line that is no record: its number, counted from 1, and why."""

    line: int
    why: str


def read(path: Path) -> Iterator[dict[str, Any] | Torn]:
    """The lines of a ledger in order; nothing when there is no such file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                yield Torn(number, "cut off")
                return
            try:
                record = json.loads(line)
            except ValueError:
                yield Torn(number, "not JSON")
                continue
            if isinstance(record, dict) and record.get("schema") == SCHEMA:
                yield record
            else:
                yield Torn(number, f"not a record of schema {SCHEMA}")


class Ledger:
    """An open ledger."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        self._is_torn = False
        size = os.fstat(self._fd).st_size
        if size:
            with path.open("rb") as file:
                file.seek(size - 1)
                self._is_torn = file.read(1) != b"\n"

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        """Write one record and return it.

        Raises InfrastructureError when the disk takes no more. No OSError: that is what a provider
        that cannot be reached raises, and it is asked again, for money.
        """
        now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        record = {"schema": SCHEMA, "t": now, "event": event, **facts}
        # Escaped: an agent's strings may hold halves of surrogate pairs, which have no UTF-8.
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        # The rest of a line that found no room is closed first, so that it spoils no other.
        line = b"\n" * self._is_torn + line
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise InfrastructureError(f"the ledger cannot be written: {error}") from error
        self._is_torn = written != len(line)
        if self._is_torn:
            raise InfrastructureError("the ledger cannot be written: its disk is full")
        return record

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

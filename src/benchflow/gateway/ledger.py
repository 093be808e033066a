"""The ledger: one JSON line for everything that a gateway did, appended and never changed.

Every total is a fold over its lines (`meter`), so a gateway that was killed goes on exactly where
its last whole line stands. A line is one `write` to a file opened for appending. A torn one (the
machine died in the middle) is closed by a line end when the ledger is opened again, and named.
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
        size = os.fstat(self._fd).st_size
        if size:
            with path.open("rb") as file:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    os.write(self._fd, b"\n")

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        """Write one record and return it. Raises OSError when the disk takes no more."""
        now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        record = {"schema": SCHEMA, "t": now, "event": event, **facts}
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        written = os.write(self._fd, line)
        if written != len(line):
            raise OSError(28, "the ledger's disk is full")
        return record

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

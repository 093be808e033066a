"""`<job>/nodes.jsonl`: on which node each try of a trial ran, and what came of it.

One line a try that reached a node, appended by the driver. Nothing of a job depends on it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.base.text import one_line
from benchflow.results.safe_files import UnreadableRecord, read_objects

NAME = "nodes.jsonl"
_SCHEMA = 1
_MAX_BYTES = 256 << 20


def note(job: Path, trial: str, came: str, **facts: Any) -> None:
    """Write down what came of a try: `done`, `lost`, `refused` or `given up`."""
    record = {
        "schema": _SCHEMA,
        "t": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "trial": trial,
        "came": came,
        **facts,
    }
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(job / NAME, flags, 0o644), "wb") as file:
            file.write(json.dumps(record).encode() + b"\n")


def reasons(job: Path) -> Counter[str]:
    """Why tries of a job did not become results, and how often."""
    found: Counter[str] = Counter()
    with suppress(UnreadableRecord):
        for _, record in read_objects(job / NAME, _MAX_BYTES):
            if isinstance(record, UnreadableRecord) or record.get("came") == "done":
                continue
            node = one_line(str(record.get("host") or record.get("node") or "a node"), 60)
            why = one_line(str(record.get("why")), 200)
            found[f"{record.get('came')}, {node}: {why}"] += 1
    return found

"""What identifies a process for longer than its number does."""

from __future__ import annotations

from pathlib import Path


def start_time(pid: int) -> int | None:
    """The start of process `pid` in clock ticks since boot; None when there is no such process
    (a zombie counts as none)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == b"Z" else int(fields[19])

"""What identifies a process for longer than its number does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process, told apart from a later one of the same number by when it started (clock ticks
    since boot: proc(5), /proc/pid/stat, field 22)."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process as it is now; None when there is none."""
        started = start_time(pid)
        return None if started is None else cls(pid, started)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return start_time(self.pid) == self.started


def start_time(pid: int) -> int | None:
    """The start of process `pid` in clock ticks since boot; None when there is no such process
    (a dead one that nobody has waited for counts as none)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])

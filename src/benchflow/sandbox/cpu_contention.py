"""How much of the host's processors others had while a sandbox ran.

A guest that gets a tenth of a core misses limits in seconds that it keeps on an idle host, and
nothing inside of it shows why. Fields of `/proc/stat`: proc_stat(5); `steal`, which the machine's
own host took, is others' too.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_IDLE, _IOWAIT, _STEAL = 3, 4, 7


@dataclass(frozen=True, slots=True)
class Clock:
    """`seconds` of some clock that never goes back; `busy` processor seconds of all cores."""

    seconds: float
    busy: float

    @classmethod
    def now(cls, stat: Path = Path("/proc/stat")) -> Self | None:
        """Nothing where the machine does not count."""
        try:
            name, *fields = stat.read_text().split("\n", 1)[0].split()
            ticks = [int(field) for field in fields[: _STEAL + 1]]
        except (OSError, ValueError):
            return None
        if name != "cpu" or len(ticks) <= _IOWAIT:
            return None
        busy = sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
        return cls(time.monotonic(), busy / os.sysconf("SC_CLK_TCK"))


def taken(since: Clock | None, until: Clock | None, own: float | None) -> float | None:
    """The share of all cores, 0 to 1, that others had between; `own` are our processor seconds."""
    if since is None or until is None or own is None:
        return None
    there = (until.seconds - since.seconds) * (os.cpu_count() or 1)
    if there <= 0:
        return None
    return round(min(1.0, max(0.0, (until.busy - since.busy - own) / there)), 3)

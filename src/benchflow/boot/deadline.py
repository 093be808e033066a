"""Deadlines in reference seconds: they follow the machine, not the clock on the wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

BACKSTOP = 10.0  # a wait ends after this many times its budget of real seconds, whatever happens


class RunQueue:
    """How long a process's threads were ready to run but had no processor.

    From /proc/PID/task/TID/schedstat, second field, in nanoseconds (Linux, sched-stats.rst).
    Threads wait side by side, so the longest wait of any one thread is what the guest lost.
    """

    def __init__(self, pid: int) -> None:
        self._tasks = Path(f"/proc/{pid}/task")
        self._before = self._waits()

    def waited(self) -> float:
        """Seconds since this object was made; 0.0 where the kernel keeps no such account."""
        now = self._waits()
        return max((wait - self._before.get(tid, 0) for tid, wait in now.items()), default=0) / 1e9

    def _waits(self) -> dict[str, int]:
        waits = {}
        try:
            for task in self._tasks.iterdir():
                waits[task.name] = int((task / "schedstat").read_text().split()[1])
        except (OSError, IndexError):
            return waits  # a thread or the process ended, or there are no schedstats here
        return waits


class Deadline:
    """A budget of reference seconds that begins now.

    `speed` is the host's (1.0 = reference host; see `calibrate`); a faster host does not shorten
    a deadline, because guests also wait for timers. `waited` says how long the guest had no
    processor since now; that time does not count, up to `BACKSTOP` times the budget.
    """

    def __init__(self, seconds: float, speed: float, waited: Callable[[], float]) -> None:
        self.seconds = seconds
        self._budget = seconds / min(1.0, speed)
        self._waited = waited
        self._start = time.monotonic()

    def used(self) -> float:
        """Reference seconds that have counted so far."""
        wall = time.monotonic() - self._start
        return max(0.0, wall - self._waited()) * self.seconds / self._budget

    def remaining(self) -> float:
        """Real seconds to wait before asking again; 0.0 when the time is up."""
        wall = time.monotonic() - self._start
        if wall < self._budget:
            return self._budget - wall
        if wall >= self._budget * BACKSTOP:
            return 0.0
        return max(0.0, self._budget - (wall - self._waited()))

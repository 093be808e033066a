"""Deadlines in reference seconds: they follow the machine, not the clock on the wall."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

BACKSTOP = 10.0  # a wait ends after this many times its budget of real seconds, whatever happens


class RunQueue:
    """How long threads of a process were ready to run but had no processor.

    From /proc/PID/task/TID/schedstat (Linux, sched-stats.rst), in nanoseconds: on a processor, and
    waiting for one. Of a QEMU, `threads` are the guest's virtual processors and no others: a guest
    can have as many disk workers wait as it likes.
    """

    def __init__(self, pid: int, threads: Sequence[int] = ()) -> None:
        self._tasks = Path(f"/proc/{pid}/task")
        self._threads = threads
        self._before = self._waits()

    def waited(self) -> float:
        """Seconds since this object was made; 0.0 where the kernel keeps no such account.

        Threads wait side by side, so the longest wait of any one of them is what the guest lost.
        """
        longest = max(
            (wait - self._before.get(tid, 0) for tid, wait in self._waits().items()), default=0
        )
        return max(0, longest) / 1e9  # a thread that is gone has no account any more

    def _waits(self) -> dict[int, int]:
        counted = {tid: schedstat(self._tasks / str(tid)) for tid in self._threads}
        return {tid: waited for tid, (_, waited) in counted.items()}


class Shares:
    """Who had the time of a process's `threads` since this object was made."""

    def __init__(self, pid: int, threads: Sequence[int]) -> None:
        self._tasks = Path(f"/proc/{pid}/task")
        self._queue = RunQueue(pid, threads)
        self._threads = {str(tid) for tid in threads}
        self._start = time.monotonic()
        self._before = self._worked()
        self._stolen = _stolen()

    def others(self) -> float:
        """The share that others than this process had while the threads were ready to run.

        What the process's own further threads worked meanwhile is its own doing; what the host's
        host took (proc(5), /proc/stat, steal) is nobody's here.
        """
        _, by_others = self._worked()
        lost = max(0.0, self._queue.waited() - max(0.0, by_others - self._before[1]))
        return min(1.0, (lost + _stolen() - self._stolen) / self._wall)

    def worked(self) -> float:
        """Processor seconds of the whole process."""
        return sum(self._worked()) - sum(self._before)

    def waited(self) -> float:
        """Seconds that its threads waited for a processor."""
        return self._queue.waited()

    @property
    def _wall(self) -> float:
        return max(1e-6, time.monotonic() - self._start)

    def _worked(self) -> tuple[float, float]:
        """Seconds on a processor: of the threads, and of all others of the process."""
        ours = others = 0
        with contextlib.suppress(OSError):
            for task in self._tasks.iterdir():
                worked, _ = schedstat(task)
                if task.name in self._threads:
                    ours += worked
                else:
                    others += worked
        return ours / 1e9, others / 1e9


def schedstat(task: Path) -> tuple[int, int]:
    """Nanoseconds that a thread was on a processor, and ready without one; zeros if it is gone."""
    try:
        worked, waited = (task / "schedstat").read_text().split()[:2]
    except (OSError, ValueError):
        return 0, 0
    return int(worked), int(waited)


def _stolen() -> float:
    """Seconds that the host's own host took from each of its processors, on average."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    ticks = int(first[8]) if len(first) > 8 else 0
    return ticks / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


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

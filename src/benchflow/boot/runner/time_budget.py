"""How long the checks may take, so that a guest that stalls fails instead of breaking the run.

The runner kills a verifier that exceeds its time limit, and a killed verifier is an `error`, which
counts for nobody. A hostile guest could buy that by answering slowly. So the checks get a share of
the limit, counted like all deadlines in reference seconds: a slow or busy host does not use it up.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from benchflow.boot.errors import GuestTimeout

CHECK_SECONDS = 900.0
_SHARE = 0.9
# Enough for the runner's limit to come first on a busy host; more would excuse a guest that sleeps.
_EXCUSED = 0.5
# A check may take the first alarm for one of the guest's failures and go on. Long enough for what
# cleans up after it.
_AGAIN = 60.0
_PRESSURE = Path("/proc/pressure/cpu")


class Budget:
    """The reference seconds that all checks together may use; `limit` 0 means no common limit."""

    def __init__(self, limit: float, check_limit: float = CHECK_SECONDS) -> None:
        self._limit = limit * _SHARE if limit else float("inf")
        self._check_limit = check_limit
        self._start = time.monotonic()
        self._stalled = _stalled()

    def remaining(self, speed: float) -> float:
        """Reference seconds that are left on a host of this speed; never below 0."""
        wall = time.monotonic() - self._start
        waited = min(max(0.0, _stalled() - self._stalled), wall * _EXCUSED)
        worked = (wall - waited) * min(1.0, speed)
        return max(0.0, self._limit - worked)

    @contextmanager
    def check(self, speed: float) -> Iterator[None]:
        """Raises GuestTimeout in the main thread when a check, or all of them, took too long.

        It comes again for as long as the check continues in spite of it.
        """
        left_for_all = self.remaining(speed)
        if left_for_all <= 0:
            raise GuestTimeout("the time for all checks is used up: the machine stalls")
        allowed = min(self._check_limit, left_for_all)
        began = Budget(allowed / _SHARE, allowed)

        def alarm(number: int, frame: FrameType | None) -> None:
            left = began.remaining(speed)
            if left > 0.05:
                signal.setitimer(signal.ITIMER_REAL, left / min(1.0, speed))
                return
            if allowed == left_for_all:
                self._limit = 0.0
            signal.setitimer(signal.ITIMER_REAL, _AGAIN / min(1.0, speed))
            raise GuestTimeout(f"no end after {allowed:.0f} reference seconds: the machine stalls")

        previous = signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, allowed / min(1.0, speed))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)


def _stalled() -> float:
    """Seconds in which some task of this host waited for a processor (kernel: accounting/psi.rst).

    0.0 where the kernel does not say.
    """
    try:
        found = re.search(r"^some .*total=(\d+)", _PRESSURE.read_text(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(found[1]) / 1e6 if found else 0.0

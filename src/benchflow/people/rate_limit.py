"""How often one address may ask: a bucket that fills again with time. Kept in memory alone."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

#: Addresses remembered; the one that asked longest ago is forgotten first.
_MOST = 10_000


class RateLimit:
    """`burst` calls at once, then `per_minute`; `clock` in seconds."""

    def __init__(
        self, burst: int, per_minute: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = burst
        self._per_second = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def allows(self, who: str) -> bool:
        """Whether `who` may, and takes one of its calls if so."""
        with self._lock:
            now = self._clock()
            left, then = self._left.pop(who, (float(self._burst), now))
            left = min(float(self._burst), left + (now - then) * self._per_second)
            may = left >= 1
            self._left[who] = (left - 1 if may else left, now)
            while len(self._left) > _MOST:
                self._left.popitem(last=False)
            return may

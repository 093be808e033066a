"""One background thread with an asyncio loop: it drains consoles, speaks QMP, forwards LAN frames.

QEMU processes are started from this thread too: Linux sends the parent-death signal when the
*thread* that forked ends (prctl(2), PR_SET_PDEATHSIG), and this one lives as long as we do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class IoLoop:
    """The running loop. Get the process's only one by `io_loop()`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="benchflow-boot-io", daemon=True)
        self._thread.start()

    def run(
        self,
        coroutine: Coroutine[Any, Any, T],
        timeout: float | None = None,
        more: Callable[[], bool] = lambda: False,
    ) -> T:
        """Run `coroutine` in the background thread and return its result.

        Raises TimeoutError after `timeout` real seconds, or after as many again for each time that
        `more` then says so; the coroutine is then cancelled.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        while True:
            try:
                return future.result(timeout)
            except TimeoutError:
                if future.done() or not more():
                    future.cancel()
                    raise

    def call(self, function: Any, *arguments: Any) -> None:
        """Run a plain function in the background thread, soon, without waiting for it."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


@cache
def io_loop() -> IoLoop:
    """The process's only background loop, started at the first call."""
    return IoLoop()

"""Steps on a machine of its own, done in the background while checks ask another one.

The host has two processors and a guest of one uses one of them: what does not depend on what is
asked in the meantime is done beside it. One busy lane, not more: a unit has its own clocks (ten
seconds for a script, a watchdog), and guests that wait for a processor run against them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Lane:
    """Does `steps` in their order, in one thread, until one of them fails.

    `close` switches the machine off that they are about.
    """

    def __init__(self, steps: Mapping[str, Callable[[], Any]], close: Callable[[], None]) -> None:
        self._close = close
        self._pool = ThreadPoolExecutor(1)
        self._done: dict[str, Future[Any]] = {}
        before: Future[Any] | None = None
        for name, step in steps.items():
            before = self._done[name] = self._pool.submit(_after, before, step)

    def result(self, name: str) -> Any:
        """What a step returned, once it is over. Raises what ended it, or a step before it."""
        return self._done[name].result()

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *error: object) -> None:
        """Begin no further step, and end the one that is under way."""
        for each in self._done.values():
            each.cancel()
        self._close()
        self._pool.shutdown()


def _after(before: Future[Any] | None, step: Callable[[], Any]) -> Any:
    if before is not None:
        before.result()
    return step()

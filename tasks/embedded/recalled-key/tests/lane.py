"""Steps on a machine of its own, done in the background while checks ask another one.

The host has two processors and a guest of one uses one of them: what does not depend on what is
asked in the meantime is done beside it. One busy lane, not more: a unit has its own clocks (ten
seconds for a script, a watchdog), and guests that wait for a processor run against them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchflow.boot import GuestExited


@dataclass(frozen=True)
class Step:
    """What is done, and the steps without which it would mean nothing."""

    act: Callable[[], Any]
    after: tuple[str, ...] = ()


class Lane:
    """Does `steps` in their order, in one thread. One that fails ends those that come after it, as
    their `after` says, and no other.

    `close` switches the machine off that they are about.
    """

    def __init__(self, steps: Mapping[str, Step], close: Callable[[], None]) -> None:
        self._close = close
        self._pool = ThreadPoolExecutor(1)
        self._done: dict[str, Future[Any]] = {}
        for name, step in steps.items():
            before = [self._done[one] for one in step.after]
            self._done[name] = self._pool.submit(_after, before, step.act)

    def result(self, name: str) -> Any:
        """What a step returned, once it is over. Raises what ended it, or a step before it."""
        try:
            return self._done[name].result()
        except CancelledError:
            raise GuestExited(f"{name}: the machine was switched off before") from None

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *error: object) -> None:
        """Begin no further step, and end the one that is under way."""
        for each in self._done.values():
            each.cancel()
        self._close()
        self._pool.shutdown()


def _after(before: list[Future[Any]], act: Callable[[], Any]) -> Any:
    for each in before:
        each.result()
    return act()

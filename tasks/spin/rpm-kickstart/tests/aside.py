"""Work beside the checks, so that a machine need not wait for what it has no part in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Aside(Generic[T]):
    """`work` in a thread of its own. What it raises is raised in whoever asks for its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._done: Future[T] = Future()
        # Nobody waits for it at the end: with its machine closed it has nothing to do.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def result(self) -> T:
        error = self._done.exception()
        if error is not None:
            # Without the places of those who asked before.
            raise error.with_traceback(self._trace)
        return self._done.result()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            value = work()
        except BaseException as error:
            self._trace = error.__traceback__
            self._done.set_exception(error)
        else:
            self._done.set_result(value)

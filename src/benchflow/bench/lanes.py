"""Work beside the checks: on machines of its own, in the background, judged by whom it is for.

A guest of one processor uses one of the host's two, so what does not depend on what is asked in
the meantime is done beside it. Keep one busy lane beside the checks, or two lanes that mostly
wait: a guest has clocks of its own (a watchdog, ten seconds for a script) that run on while it
waits for a processor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from benchflow.boot import (
    BootError,
    GuestError,
    GuestExited,
    GuestTimeout,
    Machine,
    VerifierBroken,
)

T = TypeVar("T")

#: Steps of a lane that waits piece by piece: each `yield` hands over for half a second.
Steps = Generator[None, None, None]

#: What all machines have in common (the host's speed, the thread that reads their consoles) is made
#: by the first of them. Hold this where two threads may make or start the first.
FIRST_MACHINE = threading.Lock()


def waits(machine: Machine, question: Callable[[], Any], seconds: float, what: str) -> Steps:
    """Wait in a lane until `question` is true. Raises GuestExited and GuestTimeout.

    A machine that is waited for in vain is closed: nobody asks it anything more, and it would run
    beside all that is started later.
    """
    deadline = machine.deadline(seconds)
    while not question():
        if not machine.alive:
            if question():
                return
            raise GuestExited(f"{machine.name} switched itself off: no {what}")
        if deadline.remaining() <= 0:
            machine.close()
            raise GuestTimeout(f"{machine.name}: no {what} in {seconds:.0f} s")
        yield


@dataclass(frozen=True)
class Step:
    """What is done, and the steps without which it would mean nothing."""

    act: Callable[[], Any]
    after: tuple[str, ...] = ()


class Lane:
    """Does `steps` in their order, in one thread. One that fails ends those that come after it, as
    their `after` says, and no other.

    `close` switches the machine off that they are about. Use it in a `with`, so that the end of
    the checks ends it.
    """

    def __init__(self, steps: Mapping[str, Step], close: Callable[[], None]) -> None:
        self._close = close
        self._pool = ThreadPoolExecutor(1)
        self._done: dict[str, Future[Any]] = {}
        for name, step in steps.items():
            before = [self._done[one] for one in step.after]
            self._done[name] = self._pool.submit(_after, before, step.act)

    def result(self, name: str) -> Any:
        """What a step returned, once it is over. Raises what ended it, or a step before it, and
        GuestExited where it was not begun before the end."""
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


class Aside(Generic[T]):
    """One piece of `work` in a thread of its own; what it raises, `result` raises."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._done: Future[T] = Future()
        # Nobody waits for it at the end: with its machine closed it has nothing to do.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def result(self) -> T:
        """What the work came to, once it is over."""
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


class Lanes:
    """Several lanes that leave facts for the checks and for each other, by name.

    Each lane has a thread of its own, and a machine, which takes one thread at a time, is its
    lane's for as long as that lasts. `facts` is what they have left, `failed` why one of them
    ended early. `close` switches every machine off.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self.facts: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        self._raised: dict[str, Exception] = {}
        self._lanes: dict[str, threading.Thread] = {}
        self._over: set[str] = set()
        self._closed = False

    def __getitem__(self, name: str) -> Any:
        """A fact. Raises GuestError, with what failed, where no lane has left it."""
        if name not in self.facts:
            why = (
                "; ".join(f"{lane}: {text}" for lane, text in list(self.failed.items()))
                or "it was not reached"
            )
            raise GuestError(f"there is no {name}: {why}")
        return self.facts[name]

    def start(self, **lanes: Steps) -> None:
        """Let these lanes go, each once; `failed` says which ended in an error."""
        new = {
            name: threading.Thread(target=self._go, args=(name, steps), name=name, daemon=True)
            for name, steps in lanes.items()
            if name not in self._lanes
        }
        self._lanes.update(new)  # all of them, before the first one asks for another
        for thread in new.values():
            thread.start()

    def _go(self, lane: str, steps: Steps) -> None:
        try:
            for _ in steps:
                if self._closed:
                    return
                time.sleep(0.5)
        except VerifierBroken as error:
            self._raised[lane] = error
        except (BootError, AssertionError) as error:
            self.failed[lane] = str(error)[:300]
        except Exception as error:
            self._raised[lane] = error
        finally:
            self._over.add(lane)

    def is_over(self, lane: str) -> bool:
        """Whether a lane has ended, or was never started."""
        return lane in self._over or lane not in self._lanes

    def after(self, lane: str, fact: str = "") -> Steps:
        """Wait in a lane until another one is over, or has left this fact."""
        while not (self.is_over(lane) or fact in self.facts):
            yield

    def wait(self, lane: str, fact: str = "") -> None:
        """Wait in a check until a lane is over, or has left this fact.

        Raises what is no fault of the deliverable's: the verifier's of all lanes, else this one's.
        """
        while not (self.is_over(lane) or fact in self.facts):
            time.sleep(0.1)
        for name, error in list(self._raised.items()):
            if isinstance(error, VerifierBroken) or (name == lane and fact not in self.facts):
                raise error

    def close(self) -> None:
        """Switch everything off, and wait until the lanes have seen it."""
        self._closed = True
        try:
            with FIRST_MACHINE:
                self._close()
        finally:
            for thread in self._lanes.values():
                thread.join(60)

"""Ends an agent that hangs: by progress, not by the clock.

Progress is any of these, between two looks (docs/models.md, *An agent that hangs*):

    a call       to the model began, ended, moved bytes, or is under way: how long a provider may
                 be silent is the gateway's business
    a command    in the sandbox began, ended or printed something
    a log        of the agent grew, in the sandbox or beside the trial
    processors   the sandbox's programs used at least `CPU_SHARE` of one
    network      the sandbox received at least `RECEIVED` bytes a second

So a compiler that says nothing for an hour is at work, and a program that waits for what never
comes is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harbor.agents.installed.base import NonZeroAgentExitCodeError

from benchflow.errors import InfrastructureError

#: Share of one processor that is work. Programs that only wait stay below it: at most 0.018 was
#: measured of coding agents that wait for an answer, 0.004 of a shell that looks once a second.
CPU_SHARE = 0.05
#: Bytes a second from outside that are a download, and not a heartbeat.
RECEIVED = 1024
_LOOKS = 10
_LONGEST_LOOK = 15.0
#: Seconds that an agent has to end in, before it is cancelled once more.
_GRACE = 60.0


class AgentStalled(NonZeroAgentExitCodeError):
    """The agent made no progress for the stated time. Its failure: what it left is verified."""


@dataclass(frozen=True)
class Signs:
    """What a trial shows of its agent at one moment.

    `events` is equal to that of the last look when nothing happened. `cpu`: seconds of processor
    time used by the sandbox so far, `received`: bytes from outside so far. `in_call`: a call to
    the model is under way. `lost`: why the agent cannot continue through no fault of its own.
    """

    events: tuple[object, ...] = ()
    cpu: float = 0.0
    received: int = 0
    in_call: bool = False
    lost: str = ""


class Stillness:
    """Adds up the time in which nothing moved."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._last: tuple[float, Signs] | None = None
        self.seconds = 0.0

    def look(self, now: float, signs: Signs) -> float:
        """Seconds without progress. Time in which nobody looked (the whole machine stood still)
        is counted as two looks at most."""
        if self._last is not None:
            elapsed = now - self._last[0]
            if moved(self._last[1], signs, elapsed):
                self.seconds = 0.0
            else:
                self.seconds += min(elapsed, 2 * self._every)
        self._last = (now, signs)
        return self.seconds


def moved(before: Signs, after: Signs, elapsed: float) -> bool:
    """Whether there was progress between two looks that lie `elapsed` seconds apart."""
    return (
        after.in_call
        or before.events != after.events
        or after.cpu - before.cpu >= CPU_SHARE * elapsed
        or after.received - before.received >= RECEIVED * elapsed
    )


@contextlib.contextmanager
def ended_when_still(seconds: float, read: Callable[[], Signs]) -> Iterator[None]:
    """Cancels the block once its agent was still for `seconds`, and raises AgentStalled then.

    `read` is called in a thread, ten times in that span or more. Where it says that the agent is
    `lost`, InfrastructureError is raised instead. The block is one of the current task's.
    """
    task = asyncio.current_task()
    assert task is not None
    watcher = _Watcher(task, seconds, read)
    watching = asyncio.create_task(watcher.watch())
    try:
        yield
    except BaseException as error:
        if watcher.reason is None:
            raise
        if watcher.others_cancelled() and isinstance(error, asyncio.CancelledError):
            raise
        raise watcher.reason from None
    else:
        if watcher.reason is not None:  # the agent took the cancellation for itself
            watcher.others_cancelled()
            raise watcher.reason
    finally:
        watching.cancel()


class _Watcher:
    """Looks at one agent, and cancels its task when it stands still."""

    def __init__(
        self, task: asyncio.Task[object], seconds: float, read: Callable[[], Signs]
    ) -> None:
        self.reason: Exception | None = None
        self._task = task
        self._seconds = seconds
        self._read = read
        self._cancelling = task.cancelling()
        self._cancelled = 0

    async def watch(self) -> None:
        every = min(self._seconds / _LOOKS, _LONGEST_LOOK)
        stillness = Stillness(every)
        while True:
            signs = await asyncio.to_thread(self._read)
            if stillness.look(time.monotonic(), signs) >= self._seconds:
                break
            await asyncio.sleep(every)
        self.reason = _reason(self._seconds, signs)
        while True:  # an agent may hold a cancellation to be a passing trouble
            self._cancelled += 1
            self._task.cancel()
            await asyncio.sleep(_GRACE)

    def others_cancelled(self) -> bool:
        """Takes back what was cancelled here; whether somebody else wants the task's end too."""
        left = self._cancelling
        for _ in range(self._cancelled):
            left = self._task.uncancel()
        self._cancelled = 0
        return left > self._cancelling


def _reason(seconds: float, signs: Signs) -> Exception:
    if signs.lost:
        return InfrastructureError(f"the agent stood still: {signs.lost}")
    return AgentStalled(
        f"no progress for {span(seconds)}: no call to a model, no command that began, ended or "
        "printed anything, no log that grew, and the sandbox's programs did next to nothing"
    )


def span(seconds: float) -> str:
    """A span of time in words: `45 s`, `30 min`."""
    return f"{math.ceil(seconds)} s" if seconds < 120 else f"{seconds / 60:g} min"

"""Keeping to what providers allow: calls at once, calls and tokens in a minute, and back-off."""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchflow.gateway.config import Limits, Patience, Place

_MINUTE = 60.0
_LONGEST_NAP = 1.0
#: Statuses that pass: too many calls, and the provider's own trouble (529 is Anthropic's overload).
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


@dataclass(eq=False, slots=True)
class Share:
    """What one call takes of its model's minute: `tokens`, from `since` on."""

    since: float
    tokens: int


class Pacer:
    """Lets calls of one model through as its limits allow, in the order in which they came.

    A call's tokens are known at its end. Until then it takes as many as its request is guessed to
    have, so that calls at once do not all pass below a limit that they break together.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._turn = asyncio.Lock()
        self._slots = asyncio.Semaphore(limits.concurrent) if limits.concurrent else None
        self._calls: deque[float] = deque()
        self._shares: list[Share] = []

    @asynccontextmanager
    async def slot(self, guess: int = 0) -> AsyncIterator[Share]:
        """Wait for one's turn, and hold a place among the calls at once. `guess`: tokens of the
        request. The caller tells `used` at its end."""
        if self._slots is not None:
            await self._slots.acquire()
        try:
            async with self._turn:
                while (wait := self._wait(guess)) > 0:
                    # A call that ends meanwhile may have taken less than was guessed.
                    await asyncio.sleep(min(wait, _LONGEST_NAP))
                share = Share(self._clock(), guess)
                self._calls.append(share.since)
                if self._limits.tpm:
                    self._shares.append(share)
            yield share
        finally:
            if self._slots is not None:
                self._slots.release()

    def used(self, share: Share, tokens: int) -> None:
        """Tell how many tokens a call took; they count against the minute that starts now."""
        share.since, share.tokens = self._clock(), tokens
        if self._limits.tpm and share not in self._shares:
            self._shares.append(share)

    def _wait(self, guess: int) -> float:
        now, limits = self._clock(), self._limits
        while self._calls and self._calls[0] <= now - _MINUTE:
            self._calls.popleft()
        self._shares = [s for s in self._shares if s.tokens and s.since > now - _MINUTE]
        waits = [0.0]
        if limits.rpm and len(self._calls) >= limits.rpm:
            waits.append(self._calls[-limits.rpm] + _MINUTE - now)
        # One call alone may be larger than the limit: it is the provider's to refuse.
        taken = sum(share.tokens for share in self._shares)
        if limits.tpm and taken and taken + guess > limits.tpm:
            waits.append(min(share.since for share in self._shares) + _MINUTE - now)
        return max(waits)


class Places:
    """Chooses among the places that serve one model: the least busy of those that are not resting.

    A place that said "too many" or failed rests until its time is over, and the others are asked.
    """

    def __init__(self, places: tuple[Place, ...], clock: Callable[[], float] = time.monotonic):
        self._busy = dict.fromkeys(places, 0)
        self._rests = dict.fromkeys(places, 0.0)
        self._clock = clock

    def choose(self) -> Place:
        """The place to ask now; if all rest, the one whose rest is over first."""
        now = self._clock()
        return min(self._busy, key=lambda p: (max(self._rests[p] - now, 0.0), self._busy[p]))

    def rest(self, place: Place, seconds: float) -> float:
        """Let a place rest; says in how many seconds some place can be asked again."""
        self._rests[place] = self._clock() + seconds
        return max(min(self._rests.values()) - self._clock(), 0.0)

    @asynccontextmanager
    async def at(self, place: Place) -> AsyncIterator[None]:
        """Count a call as under way at a place."""
        self._busy[place] += 1
        try:
            yield
        finally:
            self._busy[place] -= 1


def pause(patience: Patience, attempt: int, headers: Mapping[str, str]) -> float:
    """Seconds until the next try, after `attempt` failures: what the provider asked for, else
    twice as long each time, with jitter so that trials do not come back all at once."""
    asked = retry_after(headers)
    if asked is not None:
        return asked
    longest = min(patience.shortest * 2 ** min(attempt, 20), patience.longest)
    return float(longest * random.uniform(0.5, 1.0))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """What Retry-After says in seconds (RFC 9110, 10.2.3), or OpenAI's `retry-after-ms`."""
    exact = headers.get("retry-after-ms")
    text = headers.get("Retry-After")
    try:
        if exact:
            return max(float(exact) / 1000, 0.0)
        if text:
            return max(float(text), 0.0)
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return max(when.timestamp() - time.time(), 0.0)

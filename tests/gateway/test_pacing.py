"""What a provider allows in a minute is kept, and nobody waits for longer than that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from benchflow.gateway.calls.pacing import Pacer, Share
from benchflow.gateway.config import Limits


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def call(pacer: Pacer, guess: int = 0, tokens: int | None = None) -> Share:
    """A call that ends at once; `tokens`: what it turned out to have."""
    async with pacer.slot(guess) as share:
        if tokens is not None:
            pacer.used(share, tokens)
    return share


async def waits(pacer: Pacer, guess: int = 0) -> asyncio.Task[Share]:
    """A call that has to wait; fails when it does not."""
    task = asyncio.create_task(call(pacer, guess))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    return task


def run(body: Callable[[Clock], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await body(Clock())

    asyncio.run(limited())


def test_calls_in_a_minute() -> None:
    async def body(clock: Clock) -> None:
        pacer = Pacer(Limits(rpm=2), clock)
        await call(pacer)
        clock.now += 30
        await call(pacer)
        third = await waits(pacer)
        clock.now += 30
        assert (await third).since == 1060
        await waits(pacer)

    run(body)


def test_tokens_in_a_minute() -> None:
    async def body(clock: Clock) -> None:
        pacer = Pacer(Limits(tpm=1000), clock)
        await call(pacer, 100, tokens=900)
        await call(pacer, 100, tokens=100)
        waiting = await waits(pacer, 100)
        clock.now += 60
        assert (await waiting).since == 1060

    run(body)


def test_calls_at_once_do_not_break_together_a_limit_that_each_keeps() -> None:
    async def body(clock: Clock) -> None:
        pacer = Pacer(Limits(tpm=1000), clock)
        async with pacer.slot(600) as first:
            second = await waits(pacer, 600)
            pacer.used(first, 300)  # it was fewer than guessed
            await second

    run(body)


def test_a_call_that_lasted_for_minutes_counts_when_it_ends() -> None:
    async def body(clock: Clock) -> None:
        pacer = Pacer(Limits(tpm=1000), clock)
        async with pacer.slot(10) as long:
            clock.now += 600
            await call(pacer, 500, tokens=0)
            pacer.used(long, 1000)
        await waits(pacer, 1)

    run(body)


def test_a_call_larger_than_the_limit_goes_alone() -> None:
    async def body(clock: Clock) -> None:
        pacer = Pacer(Limits(tpm=1000), clock)
        await call(pacer, 5000, tokens=5000)
        await waits(pacer, 1)

    run(body)


@pytest.mark.parametrize("limits", [Limits(), Limits(concurrent=4)])
def test_without_a_limit_nobody_waits(limits: Limits) -> None:
    async def body(clock: Clock) -> None:
        pacer = Pacer(limits, clock)
        for _ in range(100):
            await call(pacer, 10_000, tokens=10_000)

    run(body)

"""Between the event loop of a harness and the sandbox's own calls, which block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


async def in_thread[T](work: Callable[[], T]) -> T:
    """Run blocking work in a thread of its own: a pool would let many sandboxes starve another."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            loop.call_soon_threadsafe(settle, None, error)
        else:
            loop.call_soon_threadsafe(settle, result, None)

    threading.Thread(target=run, daemon=True, name="sandbox").start()
    return await future


def all_of(
    *listeners: Callable[[str, bytes], None] | None,
) -> Callable[[str, bytes], None] | None:
    """One that hears what comes and tells each of `listeners`; None where there is none."""
    found = [listener for listener in listeners if listener is not None]

    def tell(stream: str, data: bytes) -> None:
        for listener in found:
            listener(stream, data)

    return tell if found else None

"""Work on many files, by as many processes as there are processors."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

_WAITING = 4


@contextmanager
def spread[Chunk, Result](
    work: Callable[[Chunk], Result], chunks: Sequence[Chunk], workers: int
) -> Iterator[Iterator[Result]]:
    """`work` of each chunk, in order, under way while the block runs; raises what `work` raises.

    `work`, chunks and results must be fit for pickling, and the program's main module for being
    imported. One chunk, or one worker, is worked on here and when asked for: starting further
    processes takes a second.
    """
    workers = min(workers, len(chunks))
    if workers < 2:
        yield map(work, chunks)
        return
    # Not forked, because the caller may have threads.
    with ProcessPoolExecutor(workers, get_context("spawn"), _prepare) as pool:
        try:
            yield pool.map(work, chunks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _prepare() -> None:
    # Interrupts are the caller's; what is read and written here holds no cycles worth looking for.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def for_disk(workers: int) -> int:
    """How many processes read small files best where `workers` would be enough to compute.

    Each waits for its disk most of the time, and a disk answers eight at once four times as fast as
    one: 100,000 trials that no cache holds are 300,000 files in as many folders.
    """
    return workers + _WAITING if workers > 1 else workers


def chunked[Item](items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """`items` in pieces of `size`, the last one shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]

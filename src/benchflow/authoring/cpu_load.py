"""Keeps every core busy, for what must hold on a loaded machine too."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy_cores(count: int | None = None) -> Iterator[None]:
    """As many processes that never rest as there are cores, or `count`, while the block runs.

    They end with this process, however it ends, and say nothing.
    """
    count = os.cpu_count() or 1 if count is None else count
    burners = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(count)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def _burn() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this one
    parent = multiprocessing.parent_process()
    while parent and parent.is_alive():  # one that is killed ends nobody
        for _ in range(1 << 20):
            pass

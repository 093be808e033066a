"""How many trials fit follows from the memory that programs can have."""

from __future__ import annotations

import os
import tempfile

import pytest

from benchflow.run.job.host_memory import available_mb

CACHED_MB = 512


def free_mb() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def cached_and_taken() -> tuple[int, int]:
    """MiB by which free and available memory shrink where a file of CACHED_MB is written."""
    available, free = available_mb(), free_mb()
    with tempfile.TemporaryFile(dir="/var/tmp") as file:  # /tmp may be memory itself
        block = os.urandom(1 << 20)
        for _ in range(CACHED_MB):
            file.write(block)
        file.flush()
        return free - free_mb(), available - available_mb()


def test_what_caches_files_is_available() -> None:
    """After hours of trials all memory caches images, and it still is there for the next.

    Others take and give back memory meanwhile, so it has to be seen once of five times.
    """
    for _ in range(5):
        scarce = free_mb() < CACHED_MB * 2
        cached, taken = cached_and_taken()
        if (cached > CACHED_MB / 2 or scarce) and taken < CACHED_MB / 2:
            return
    pytest.fail(f"{cached} MiB were cached, and {taken} MiB less are available")

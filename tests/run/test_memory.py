"""How many trials fit follows from the memory that programs can have."""

from __future__ import annotations

import os
import tempfile

from benchflow.run.job.host_memory import available_mb

CACHED_MB = 512


def free_mb() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def test_what_caches_files_is_available() -> None:
    """After hours of trials all memory caches images, and it still is there for the next."""
    available, free = available_mb(), free_mb()
    with tempfile.TemporaryFile(dir="/var/tmp") as file:  # /tmp may be memory itself
        block = os.urandom(1 << 20)
        for _ in range(CACHED_MB):
            file.write(block)
        file.flush()
        assert free - free_mb() > CACHED_MB / 2 or free < CACHED_MB * 2
        assert available - available_mb() < CACHED_MB / 2

"""One process at a time works on a job. The lock is the kernel's: it vanishes with its holder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchflow.errors import UsageError

LOCK_NAME = ".benchflow.lock"


class JobInUse(UsageError):
    """Another process runs or resumes this job right now."""


@contextmanager
def hold(job: Path, then: str = "") -> Iterator[None]:
    """Holds the lock of folder `job` for the length of the block. Raises JobInUse at once.

    `then`: the command that goes on afterwards, for the hint; default: to resume the job.
    """
    descriptor = os.open(job / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            holder = f"process {pid}" if pid.isdigit() else "another process"
            raise JobInUse(
                f"{job}: {holder} works on this job",
                hint="wait for it, or stop it; then: " + (then or f"benchflow resume {job.name}"),
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_held(job: Path) -> bool:
    """Whether a process works on folder `job` at this moment."""
    try:
        descriptor = os.open(job / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False

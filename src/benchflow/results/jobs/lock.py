"""One process at a time works on a job. The lock is the kernel's: it vanishes with its holder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchflow.errors import UsageError

LOCK_NAME = ".benchflow.lock"
#: Descriptors of the locks that this process holds.
_held: set[int] = set()


class JobInUse(UsageError):
    """Another process runs or resumes this job right now."""


@contextmanager
def hold(job: Path, then: str = "") -> Iterator[int]:
    """Holds the lock of folder `job` for the length of the block; gives its descriptor. Raises
    JobInUse at once.

    `then`: the command that continues the work, for the hint; default: to resume the job.
    """
    descriptor = os.open(job / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = holder(job)
            who = f"process {pid}" if pid else "another process"
            raise JobInUse(
                f"{job}: {who} works on this job",
                hint="wait for it, or stop it; then: " + (then or f"benchflow resume {job.name}"),
            ) from None
        _held.add(descriptor)
        _sign(descriptor)
        yield descriptor
    finally:
        _held.discard(descriptor)
        os.close(descriptor)


def take_over(descriptor: int) -> None:
    """Called in a child after a fork: this lock is the child's now, and no other lock is.

    A lock that was held at the fork is held until both processes have let go of it.
    """
    for other in _held - {descriptor}:
        os.close(other)
    _held.intersection_update({descriptor})
    _sign(descriptor)


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


def holder(job: Path) -> int | None:
    """The process that took the lock of folder `job` last; it may be gone."""
    with suppress(OSError, ValueError):
        return int((job / LOCK_NAME).read_text("ascii"))
    return None


def _sign(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

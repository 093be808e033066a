"""Takes the checkpoints of one trial while its agent works. Nothing here ever harms the trial."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from benchflow.base.text import one_line
from benchflow.errors import BenchflowError, InfrastructureError
from benchflow.run.checkpoints import fingerprint
from benchflow.run.checkpoints.store import Checkpoint, Delivered, Store
from benchflow.sandbox import trial_files
from benchflow.sandbox.threads import in_thread
from benchflow.sandbox.transfer import Unreadable

#: Bytes of the host's disk that no checkpoint takes.
_SPARE = 2 << 30


class Source(Protocol):
    """A sandbox, as far as checkpoints need one."""

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    def get(self, inside_path: str, host_path: Path, most: int) -> list[str]:
        """See `Sandbox.get`."""


class Taker:
    """Copies `paths` out of a running sandbox every `seconds`, into the trial's folder."""

    def __init__(
        self,
        trial: Path,
        paths: Sequence[str],
        seconds: float,
        source: Source,
        logger: logging.Logger,
    ) -> None:
        self._trial = trial
        self._paths = tuple(paths)
        self._seconds = seconds
        self._source = source
        self._logger = logger
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    @contextlib.contextmanager
    def taking(self, before: float) -> Iterator[None]:
        """Takes checkpoints for as long as the block lasts. `before`: seconds that the agent has
        worked already, in a part of the trial that was cut off."""
        self._task = asyncio.create_task(self._work(before - time.monotonic()))
        try:
            yield
        finally:
            self._over.set()

    async def finish(self) -> None:
        """Wait for a copy that is under way at the end. Never raises."""
        self._over.set()
        if self._task is None:
            return
        (fault,) = await asyncio.gather(self._task, return_exceptions=True)
        if fault is not None:
            self._logger.warning("checkpoints ended early: %s: %s", type(fault).__name__, fault)

    async def _work(self, offset: float) -> None:
        store = await in_thread(lambda: Store(self._trial, self._seconds))
        while True:
            elapsed = time.monotonic() + offset
            wait = store.every - elapsed % store.every
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), wait)
                return
            await in_thread(lambda: self._take(store, time.monotonic() + offset))

    def _take(self, store: Store, seconds: float) -> None:
        now = datetime.now(UTC)
        try:
            with store.draft() as draft:
                found = self._copy(draft, min(store.room(), self._free()))
                new = _checkpoint(seconds, now, found, draft)
                store.add(new, draft if any(each.stored_as for each in found) else None)
        except (OSError, BenchflowError) as error:
            why = one_line(f"{type(error).__name__}: {error}", 400)
            self._logger.warning("a checkpoint is missing: %s", why)
            with contextlib.suppress(OSError):  # a full disk takes no note of that either
                store.add(Checkpoint(0, seconds, now, seconds, now, "", (), why))

    def _free(self) -> int:
        return max(0, shutil.disk_usage(self._trial).free - _SPARE)

    def _copy(self, draft: Path, room: int) -> list[Delivered]:
        found = []
        for place, path in enumerate(self._paths, 1):
            found.append(self._copy_one(path, draft / str(place), room))
            room -= found[-1].bytes
        if not self._source.alive:  # its files may have gone before they were looked at
            raise InfrastructureError("the sandbox ended meanwhile")
        return found

    def _copy_one(self, path: str, to: Path, room: int) -> Delivered:
        try:
            left_out = self._source.get(path, to, room)
        except FileNotFoundError as error:
            if _is_too_large(error):
                raise
            # Not there, or in nobody's reach: the agent's doing, and not delivered.
            return Delivered(path, "absent", why=one_line(str(error.strerror), 200))
        if path.rstrip("/") in left_out:
            return Delivered(path, "absent", why="a link or special file")
        on_disk, apparent = trial_files.stored(to)
        kind = "directory" if to.is_dir() else "file"
        return Delivered(path, kind, to.name, on_disk, apparent)


def _is_too_large(error: Exception) -> bool:
    return isinstance(error, Unreadable) and error.errno == errno.EFBIG


def _checkpoint(seconds: float, now: datetime, found: list[Delivered], draft: Path) -> Checkpoint:
    digest = fingerprint.of_text("checkpoint 1")
    for each in found:
        digest.update(f"\0{each.path}\0{each.kind}\0".encode())
        if each.stored_as:
            fingerprint.add_tree(digest, draft / each.stored_as)
    return Checkpoint(0, seconds, now, seconds, now, digest.hexdigest(), tuple(found))

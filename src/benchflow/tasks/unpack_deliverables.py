"""Unpacks what a consumer carried over as one archive; runs in the verifier, before the checks.

The archive was made in the agent's container, by tools that the agent could replace: every byte of
it may be hostile. It is bounded, only what the task declares leaves the folder where it is
unpacked, and whatever is wrong with it is the agent's failure: the checks then find nothing there.

A script of its own: it has nothing but Python's library and GNU tar.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_MIB = 1 << 20
#: Beside a quarter of what may be delivered: what an archive says of each file before its content.
_SLACK_MB = 64
_TAR_SECONDS = 300  # of processor time; links to links cost tar as many steps as there are pairs
_TAR_MB = 1024  # of memory
_CHUNK = 1 << 16
#: `boot` takes no folder with more than 200,000 entries.
_MOST_ENTRIES = 250_000
_LOOK_MB = 32  # after so much of the archive all is counted: it names 65,536 entries at most
_SUSPICIOUS_MB = 128  # by which the disk may shrink more than what was unpacked
_FULL_MB = 16  # a disk with less left is full


class Refused(Exception):
    """The archive is not what was asked for."""


def main(told: dict[str, Any]) -> None:
    """`told`: `tests/task.json`. Raises OSError where the verifier's own disk fails."""
    archive = Path(told["archive"])
    if not os.path.lexists(archive):
        return
    declared = {each["path"]: each for each in told["deliverables"]}
    first = Path(next(iter(declared))).parent
    first.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=first))
    try:
        _unpack(archive, scratch, list(declared.values()))
        for path in declared:
            _take(scratch, path)
    except Refused as error:
        print(f"nothing was taken from the archive of deliverables: {error}", file=sys.stderr)
    finally:
        _remove(scratch, archive)


def _remove(*paths: Path) -> None:
    """Whatever they are. By `rm`, which no depth of folders and no length of a path stops."""
    subprocess.run(["rm", "-rf", "--", *paths], stderr=subprocess.DEVNULL, check=False)


def _unpack(archive: Path, scratch: Path, deliverables: list[dict[str, Any]]) -> None:
    told = archive.lstat()
    if not stat.S_ISREG(told.st_mode):
        raise Refused("it is not a file")
    room = int(sum(each["max_stored_mb"] for each in deliverables) * 1.25 + _SLACK_MB) * _MIB
    if told.st_size > room:
        raise Refused(f"it is larger than {room // _MIB} MiB")

    def bound() -> None:
        for limit, most in (
            (resource.RLIMIT_CPU, _TAR_SECONDS),
            (resource.RLIMIT_AS, _TAR_MB * _MIB),
            (resource.RLIMIT_CORE, 0),
        ):
            # Not both the same: at the hard limit of processor time the kernel kills, as it does
            # where memory is short, and that is no fault of an archive.
            resource.setrlimit(limit, (most, most + 60))

    names = [each["path"].lstrip("/") for each in deliverables]
    options = ["--sparse", "--numeric-owner", "--no-unquote", "-C", str(scratch)]
    command = ["tar", "--extract", *options, "--", *names]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=bound
    ) as tar:
        assert tar.stdin is not None
        growth = _Growth(scratch, room)
        try:
            for piece in _inflated(archive, room):
                tar.stdin.write(piece)
                growth.look(len(piece))
        except BrokenPipeError:
            pass  # tar ended early; what it has taken is looked at
        except Refused:
            tar.kill()
            raise
        finally:
            with suppress(BrokenPipeError):
                tar.stdin.close()
    _blame_the_disk(tar.returncode, scratch)
    growth.count()


def _blame_the_disk(status: int, folder: Path) -> None:
    """Raises OSError where tar failed for want of what an archive of this size cannot use up."""
    if status == -signal.SIGKILL:
        raise OSError(errno.ENOMEM, "tar was killed from outside")
    left = os.statvfs(folder)
    is_full = left.f_bavail * left.f_frsize < _FULL_MB * _MIB or (
        left.f_files and not left.f_favail
    )
    if status and is_full:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


class _Growth:
    """What is unpacked may take no more than `room`, and a bounded number of entries: a file of
    many small pieces between holes takes a block of the disk for each of them, a folder takes one
    too, and a file an inode at least."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        self._room = room
        self._free = self._left()
        self._fed = 0

    def look(self, fed: int) -> None:
        """After `fed` further bytes. Raises Refused."""
        self._fed += fed
        lost = self._free - self._left()
        if self._fed >= _LOOK_MB * _MIB or lost > self._fed + _SUSPICIOUS_MB * _MIB:
            self.count()
            self._free, self._fed = self._left(), 0

    def count(self) -> None:
        """Raises Refused where it is too much."""
        if _counted(self._folder, "--block-size=1") > self._room:
            raise Refused(f"it takes more than {self._room // _MIB} MiB of disk")
        if _counted(self._folder, "--inodes") > _MOST_ENTRIES:
            raise Refused(f"it holds more than {_MOST_ENTRIES} files and folders")

    def _left(self) -> int:
        told = os.statvfs(self._folder)
        return told.f_bfree * told.f_frsize


def _counted(folder: Path, what: str) -> int:
    """By `du`, while tar may be at work: each inode once, whatever vanishes meanwhile."""
    command = ["du", "--summarize", what, "--", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return int(done.stdout.split()[0])


def _inflated(archive: Path, room: int) -> Iterator[bytes]:
    """The archive without its compression, at most `room` bytes."""
    inflater = zlib.decompressobj(wbits=31)
    left = room
    with archive.open("rb") as file:
        while not inflater.eof and (data := file.read(_CHUNK)):
            while data:
                try:
                    piece = inflater.decompress(data, _CHUNK)
                except zlib.error as error:
                    raise Refused(f"it is no gzip file ({error})") from None
                left -= len(piece)
                if left < 0:
                    raise Refused(f"it holds more than {room // _MIB} MiB")
                yield piece
                data = inflater.unconsumed_tail
    if not inflater.eof:
        raise Refused("it ends in the middle" if left < room else "it is empty")


def _take(scratch: Path, path: str) -> None:
    """Moves one deliverable to its place, where it is a file or a folder on a way of folders."""
    found = scratch
    for part in Path(path).parts[1:]:
        if not stat.S_ISDIR(found.lstat().st_mode):
            return
        found = found / part
        if not os.path.lexists(found):
            return
    if not (stat.S_ISREG(found.lstat().st_mode) or stat.S_ISDIR(found.lstat().st_mode)):
        return
    target = Path(path)
    if os.path.lexists(target):
        _remove(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    found.rename(target)


if __name__ == "__main__":
    main(json.loads((Path(__file__).parent / "task.json").read_text(encoding="utf-8")))

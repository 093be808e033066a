"""Unpacks what a consumer carried over as one archive; runs in the verifier, before the checks.

The archive was made in the agent's container, by tools that the agent could replace: every byte of
it may be hostile. It is bounded, only what the task declares leaves the folder where it is
unpacked, and whatever is wrong with it is the agent's failure: the checks then find nothing there.

A script of its own: it has nothing but Python's library and GNU tar.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
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
_TAR_SECONDS = 1200  # of processor time
_TAR_MB = 1024  # of memory
_CHUNK = 1 << 16
_SUSPICIOUS_MB = 128  # by which the disk may shrink more than what was unpacked


class Refused(Exception):
    """The archive is not what was asked for."""


def main(told: dict[str, Any]) -> None:
    """`told`: `tests/task.json`. Raises OSError where the verifier's own disk fails."""
    archive = Path(told["archive"])
    if not archive.exists() and not archive.is_symlink():
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
        shutil.rmtree(scratch, ignore_errors=True)
        archive.unlink()


def _unpack(archive: Path, scratch: Path, deliverables: list[dict[str, Any]]) -> None:
    if not stat.S_ISREG(archive.lstat().st_mode):
        raise Refused("it is not a file")
    room = int(sum(each["max_stored_mb"] for each in deliverables) * 1.25 + _SLACK_MB) * _MIB

    def bound() -> None:
        for limit, most in (
            (resource.RLIMIT_CPU, _TAR_SECONDS),
            (resource.RLIMIT_AS, _TAR_MB * _MIB),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(limit, (most, most))

    names = [each["path"].lstrip("/") for each in deliverables]
    command = ["tar", "--extract", "--sparse", "--numeric-owner", "-C", str(scratch), "--", *names]
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


class _Growth:
    """What is unpacked may take no more than `room`: a file of many small pieces between holes
    takes a block of the disk for each of them."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        self._room = room
        self._free = self._left()
        self._fed = 0

    def look(self, fed: int) -> None:
        """After `fed` further bytes. Raises Refused. All is counted where the disk lost more."""
        self._fed += fed
        if self._free - self._left() <= self._fed + _SUSPICIOUS_MB * _MIB:
            return
        if _stored(self._folder) > self._room:
            raise Refused(f"it takes more than {self._room // _MIB} MiB of disk")
        self._free, self._fed = self._left(), 0

    def _left(self) -> int:
        told = os.statvfs(self._folder)
        return told.f_bfree * told.f_frsize


def _stored(folder: Path) -> int:
    return sum(
        (Path(root) / name).lstat().st_blocks * 512
        for root, _, names in os.walk(folder)
        for name in names
    )


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
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    found.rename(target)


if __name__ == "__main__":
    main(json.loads((Path(__file__).parent / "task.json").read_text(encoding="utf-8")))

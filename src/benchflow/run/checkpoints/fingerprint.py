"""A digest of what was copied out of a sandbox: equal for equal names, modes and contents.

It reads what is stored and not what a size claims: a hole of a terabyte is passed over.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


def add_tree(to: _Hash, top: Path) -> None:
    """Add a file or a folder with all below it to the digest `to`. Links are not followed. Raises
    OSError."""
    waiting = [top]  # not by recursion: a tree may be deeper than Python's stack
    while waiting:
        path = waiting.pop()
        info = path.lstat()
        _add_text(to, path.name)
        to.update(f"{stat.S_IFMT(info.st_mode)} {stat.S_IMODE(info.st_mode)} ".encode())
        if stat.S_ISLNK(info.st_mode):
            _add_text(to, os.readlink(path))  # noqa: PTH115 (a name that is no text)
        elif stat.S_ISREG(info.st_mode):
            _add_file(to, path)
        elif stat.S_ISDIR(info.st_mode):
            names = sorted(os.listdir(path))  # noqa: PTH208 (100,000 paths sort slowly)
            to.update(f"{len(names)} ".encode())
            waiting += [path / name for name in reversed(names)]


def of_text(text: str) -> _Hash:
    """A digest that has begun with `text`."""
    return hashlib.sha256(text.encode())


def _add_text(to: _Hash, text: str) -> None:
    data = os.fsencode(text)
    to.update(f"{len(data)} ".encode() + data)


def _add_file(to: _Hash, path: Path) -> None:
    """Blocks that hold anything, each with its place: how zeros are stored makes no difference."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        size = os.fstat(file).st_size
        to.update(f"{size} ".encode())
        at = 0
        while at < size:
            try:
                start = os.lseek(file, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole from here on
                    return
                raise
            end = os.lseek(file, start, os.SEEK_HOLE)
            at = max(at, start - start % _BLOCK)
            while at < end:
                block = os.pread(file, _BLOCK, at)
                if not block:  # it was cut short meanwhile
                    return
                if block != _ZEROS[: len(block)]:
                    to.update(at.to_bytes(8, "big") + len(block).to_bytes(4, "big") + block)
                at += _BLOCK
    finally:
        os.close(file)

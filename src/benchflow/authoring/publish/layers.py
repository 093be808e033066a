"""Files of an image, read from its layers without running anything of it.

An image is hostile: links are not followed, only regular files are read, and only so much of them.
A layer hides what is below as overlay file systems write it: a device 0/0 for a name, a mark at a
folder for all that it held.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")
_MOST_NAMES = 100_000


def read(layers: tuple[Path, ...], name: str, limit: int) -> bytes | None:
    """The start of the file `name`, at most `limit` bytes; None where it is none to be read."""
    for layer in reversed(layers):
        found = _open(layer, name)
        if found is None:
            continue
        descriptor, hidden = found
        if descriptor >= 0:
            try:
                regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
                with open(descriptor, "rb", closefd=False) as file:
                    return file.read(limit) if regular else None
            finally:
                os.close(descriptor)
        if hidden:
            return None
    return None


def names(layers: tuple[Path, ...], folder: str) -> list[str]:
    """The names in `folder`, sorted; empty where there is no such folder."""
    seen: set[str] = set()
    gone: set[str] = set()
    for layer in reversed(layers):
        found = _open(layer, folder)
        if found is None:
            continue
        descriptor, hidden = found
        if descriptor >= 0:
            try:
                if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    break
                with os.scandir(descriptor) as entries:
                    for entry in entries:
                        whiteout = stat.S_ISCHR(entry.stat(follow_symlinks=False).st_mode)
                        if entry.name not in gone and not whiteout and len(seen) < _MOST_NAMES:
                            seen.add(entry.name)
                        elif whiteout:
                            gone.add(entry.name)
            finally:
                os.close(descriptor)
        if hidden:
            break
    return sorted(seen)


def _open(layer: Path, name: str) -> tuple[int, bool] | None:
    """A descriptor (-1: not here, in this layer), and whether lower layers are hidden.

    None: this layer says nothing of that name.
    """
    hidden = False
    at = os.open(layer, os.O_RDONLY | os.O_DIRECTORY)
    for part in name.split("/"):
        try:
            info = os.stat(part, dir_fd=at, follow_symlinks=False)
            if not (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)):
                os.close(at)
                return -1, True  # a whiteout, a link, a pipe: below it is nothing of ours
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            following = os.open(part, flags, dir_fd=at)
        except OSError:
            os.close(at)
            return (-1, True) if hidden else None
        os.close(at)
        at = following
        for mark in _OPAQUE:
            with suppress(OSError):
                hidden = hidden or os.getxattr(at, mark) == b"y"
    return at, hidden

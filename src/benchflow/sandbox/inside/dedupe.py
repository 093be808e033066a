"""Files that several layers hold alike are stored once: further names (hard links) of one file.

Layers are only ever read: a sandbox that writes to such a file gets its own copy from overlayfs.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress

#: A smaller file takes one block; to link it costs about as much time and saves nothing to speak
#: of.
SMALLEST = 4097
_PIECE = 1 << 20
_NEW = "new"  # no digest


def main(pool: str, *layers: str) -> None:
    """Give every file of `layers` that `pool` knows the pool's copy, and the pool all others.

    What makes two files one: path in the layer, content, owner, mode, time and extended
    attributes. Two names in one image therefore never become one file. One process at a time.
    """
    with suppress(FileExistsError):
        os.mkdir(pool, 0o700)  # noqa: PTH102
    with suppress(FileNotFoundError):  # of one that was killed
        os.unlink(f"{pool}/{_NEW}")  # noqa: PTH108
    for layer in layers:
        for folder, _, names, at in os.fwalk(layer):
            for name in names:
                _share(pool, os.path.relpath(os.path.join(folder, name), layer), name, at)  # noqa: PTH118


def _share(pool: str, path: str, name: str, at: int) -> None:
    status = os.stat(name, dir_fd=at, follow_symlinks=False)
    # What has several names is in the pool already, or the image itself made it so.
    if not stat.S_ISREG(status.st_mode) or status.st_size < SMALLEST or status.st_nlink > 1:
        return
    kept = f"{pool}/{_name(path, name, at, status)}"
    try:
        os.link(name, kept, src_dir_fd=at)
    except FileExistsError:
        os.link(kept, f"{pool}/{_NEW}")
        os.rename(f"{pool}/{_NEW}", name, dst_dir_fd=at)


def _name(path: str, name: str, at: int, status: os.stat_result) -> str:
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        facts = [status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns]
        xattrs = sorted((key, os.getxattr(file, key)) for key in os.listxattr(file))
        digest = hashlib.sha256(os.fsencode(f"{path}\0{facts}\0{xattrs}\0"))
        while piece := os.read(file, _PIECE):
            digest.update(piece)
        return digest.hexdigest()
    finally:
        os.close(file)

"""Copies a file's data and leaves its holes holes."""

from __future__ import annotations

import errno
import fcntl
import os

_FICLONE = 0x40049409
_CHUNK = 1 << 30


def copy(source: int, target: int, limit: int | None = None) -> int:
    """Copy the whole of one open file into another, empty one: a reflink where the file system
    can, else only its data. Returns the bytes that were stored. Raises OSError; EFBIG when that
    would be more than `limit`."""
    info = os.fstat(source)
    size, stored = info.st_size, info.st_blocks * 512
    _bound(stored, limit)
    try:
        fcntl.ioctl(target, _FICLONE, source)
        return stored
    except OSError:  # most file systems cannot, and none across two of them
        pass
    os.ftruncate(target, size)
    position = stored = 0
    while position < size:
        try:
            start = os.lseek(source, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole from here on
                return stored
            raise
        end = min(os.lseek(source, start, os.SEEK_HOLE), size)
        # Not every file system says truly how much a file takes.
        stored += end - start
        _bound(stored, limit)
        _copy_range(source, target, start, end)
        position = end
    return stored


def _bound(stored: int, limit: int | None) -> None:
    if limit is not None and stored > limit:
        raise OSError(errno.EFBIG, "more than may be copied")


def _copy_range(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        count = min(end - start, _CHUNK)
        try:
            done = os.copy_file_range(source, target, count, start, start)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            os.lseek(target, start, os.SEEK_SET)
            done = os.sendfile(target, source, start, count)
        if done == 0:  # the file shrank while it was read
            return
        start += done

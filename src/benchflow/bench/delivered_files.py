"""Delivered files as they lie: read within bounds, searched, hashed, and compared."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchflow.boot import BadDeliverable

_CHUNK = 4 << 20
_MIB = 1 << 20


def read_bounded(path: Path, most: int) -> bytes:
    """A delivered file. AssertionError when it is none, a link, or larger than `most` bytes."""
    assert path.is_file() and not path.is_symlink(), f"there is no file {path.name}"
    assert path.stat().st_size <= most, f"{path.name} is larger than {most} bytes"
    return path.read_bytes()


def pinned(folder: Path, sums: str) -> Path:
    """The bench's folder, when all that it has to hold is what was shipped."""
    for line in sums.splitlines():
        digest, name = line.split()
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise BadDeliverable(f"/app/bench/{name} is missing")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise BadDeliverable(f"/app/bench/{name} was changed")
    return folder


def additions(folder: Path, sums: str) -> list[str]:
    """What lies in the bench's folder and was not shipped, by path."""
    shipped = {line.split()[1] for line in sums.splitlines()}
    return sorted({str(path.relative_to(folder)) for path in folder.rglob("*")} - shipped)


def found_in(path: Path, needles: Sequence[bytes]) -> set[bytes]:
    """Which of `needles` occur anywhere in a file, however large and sparse; holes are not read."""
    wanted = [needle for needle in needles if needle]
    found: set[bytes] = set()
    overlap = max(map(len, wanted), default=1) - 1
    with path.open("rb") as file:
        number = file.fileno()
        for start, end in _extents(number):
            for at in range(start, end, _CHUNK):
                chunk = os.pread(number, min(_CHUNK, end - at) + overlap, at)
                found.update(needle for needle in wanted if needle in chunk)
    return found


def sha256_of(path: Path, start: int = 0, size: int | None = None) -> str:
    """Of `size` bytes of a file from `start` on, of all of them without; of what there is where it
    ends before."""
    total = hashlib.sha256()
    left = path.stat().st_size if size is None else size
    with path.open("rb") as file:
        file.seek(start)
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            total.update(chunk)
            left -= len(chunk)
    return total.hexdigest()


def sparse_digest(path: Path) -> str:
    """A disk's size and a digest of its bytes, zeros left out, so that a disk of gigabytes costs
    what is written on it; equal for two files of the same bytes, whichever of them has holes."""
    state, zeros = hashlib.blake2b(), bytes(_MIB)
    with path.open("rb") as file:
        number = file.fileno()
        size, read = os.fstat(number).st_size, 0
        for start, end in _extents(number):
            for at in range(max(start - start % _MIB, read), end, _MIB):
                data = os.pread(number, _MIB, at)
                read = at + _MIB
                if data != zeros[: len(data)]:
                    state.update(at.to_bytes(8, "big") + data)
    return f"{size} {state.hexdigest()}"


def _extents(number: int) -> Iterator[tuple[int, int]]:
    """Where an open file holds data: (start, end), ascending."""
    size, at = os.fstat(number).st_size, 0
    while at < size:
        try:
            start = os.lseek(number, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # a hole up to the end
        at = os.lseek(number, start, os.SEEK_HOLE)
        yield start, at

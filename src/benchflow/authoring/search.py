"""Every file that an image holds, in all its layers and inside its archives, hostile or not.

Nothing is followed, mounted or run: links are skipped, archives are read as streams inside a
budget of bytes and of depth.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

MIB = 1 << 20
#: A larger plain file is no text that somebody wrote; an archive is read up to the second figure.
LARGEST_FILE, LARGEST_UNPACKED = 16 * MIB, 512 * MIB
DEEPEST = 3
_HEAD = 8192
_BROKEN = (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, KeyError)
_DAMAGED = (lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile, *_BROKEN)
_STREAMS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}


@dataclass
class Searched:
    """What was looked at; `unread` names what was not, and why."""

    files: int = 0
    stored: int = 0
    unread: list[str] = field(default_factory=list)


def files_of(
    layers: tuple[Path, ...], seen: Searched, sizes: Container[int] = ()
) -> Iterator[tuple[str, bytes]]:
    """(path in the image, content) of each text and each archive's text, lowest layer first.

    A member of an archive is named `archive!member`. Binary files are passed over but for those
    of one of `sizes`, and files of 16 MiB and more that are no archives: nobody wrote those.
    """
    reader = _Reader(seen, sizes)

    def unread(error: OSError) -> None:
        seen.unread.append(f"{error.filename}: {error.strerror}")

    for layer in layers:
        for folder, folders, names in os.walk(layer, onerror=unread):
            folders.sort()
            for name in sorted(names):
                path = Path(folder) / name
                inside = path.relative_to(layer).as_posix()
                try:
                    yield from reader.file(path, inside)
                except OSError as error:
                    seen.unread.append(f"{inside}: {error.strerror}")


@dataclass(frozen=True)
class _Reader:
    seen: Searched
    sizes: Container[int]

    def file(self, path: Path, inside: str) -> Iterator[tuple[str, bytes]]:
        if not stat.S_ISREG(path.lstat().st_mode):
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            self.seen.files += 1
            self.seen.stored += status.st_blocks * 512
            yield from self.content(inside, stream, status.st_size, 0)

    def content(
        self, name: str, stream: IO[bytes], size: int, depth: int
    ) -> Iterator[tuple[str, bytes]]:
        head = stream.read(_HEAD)
        stream.seek(0)
        if depth < DEEPEST and (members := self.members(name, stream, head, depth)):
            try:
                yield from members
            except _DAMAGED as error:
                self.seen.unread.append(f"{name}: {type(error).__name__}")
        elif size < LARGEST_FILE and (b"\0" not in head or size in self.sizes):
            yield name, stream.read()

    def members(
        self, name: str, stream: IO[bytes], head: bytes, depth: int
    ) -> Iterator[tuple[str, bytes]] | None:
        for magic, opened in _STREAMS.items():
            if head.startswith(magic):
                return self.unpacked(name, opened(stream), depth)
        if head.startswith(b"PK\x03\x04"):
            return self.zipped(name, stream, depth)
        if head.startswith(b"!<arch>\n") and head[8:21] == b"debian-binary":
            return self.package(name, stream, depth)
        if head[257:262] == b"ustar":
            return self.tarred(name, stream, depth)
        return None

    def unpacked(self, name: str, stream: IO[bytes], depth: int) -> Iterator[tuple[str, bytes]]:
        """A compressed stream: a tar in it is read member by member, anything else whole."""
        reader = io.BufferedReader(_Capped(stream))
        if reader.peek(_HEAD)[257:262] == b"ustar":
            yield from self.tarred(name, reader, depth)
            return
        data = reader.read(LARGEST_FILE)
        inside = name.rpartition(".")[0] or name
        yield from self.content(inside, io.BytesIO(data), len(data), depth + 1)

    def tarred(self, name: str, stream: IO[bytes], depth: int) -> Iterator[tuple[str, bytes]]:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                source = archive.extractfile(member) if member.isreg() else None
                if source is not None and member.size < LARGEST_FILE:
                    data = source.read()
                    inside = f"{name}!{member.name}"
                    yield from self.content(inside, io.BytesIO(data), len(data), depth + 1)

    def zipped(self, name: str, stream: IO[bytes], depth: int) -> Iterator[tuple[str, bytes]]:
        left = LARGEST_UNPACKED
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                if member.is_dir() or member.file_size >= min(LARGEST_FILE, left):
                    continue
                left -= member.file_size
                data = archive.read(member)
                inside = f"{name}!{member.filename}"
                yield from self.content(inside, io.BytesIO(data), len(data), depth + 1)

    def package(self, name: str, stream: IO[bytes], depth: int) -> Iterator[tuple[str, bytes]]:
        """A Debian package: an `ar` archive, whose headers have 60 bytes (ar(5))."""
        stream.seek(8)
        while len(header := stream.read(60)) == 60:
            size, start = int(header[48:58]), stream.tell()
            member = header[:16].decode("ascii", "replace").strip().rstrip("/")
            if size < LARGEST_UNPACKED:
                part = io.BytesIO(stream.read(size))
                yield from self.content(f"{name}!{member}", part, size, depth + 1)
            stream.seek(start + size + size % 2)


class _Capped(io.RawIOBase):
    """A stream that ends after `LARGEST_UNPACKED` bytes, whatever an archive promises."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._left = LARGEST_UNPACKED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._source.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)

"""Archives that bombs cannot exploit: decompression with hard limits, tar and initramfs trees."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.filesystem import Entry, Kind
from benchflow.boot.inspect.listed_filesystem import Tree
from benchflow.boot.sanitize import first_line

LIMIT = 512 << 20
_CHUNK = 1 << 20
# xz -9 needs 65 MiB; a header may ask for 4 GiB.
_LZMA_MEMORY = 256 << 20
_ZSTD_MEMORY = "256MB"


class _Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


_NATIVE: tuple[tuple[bytes, Callable[[], _Decompressor]], ...] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)),
    (b"\x5d\0\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_LZMA_MEMORY)),
)
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18(.{4})", re.DOTALL)
_TOOLS = (
    (_ZSTD, ["zstd", "-q", "-d", "-c", f"--memory={_ZSTD_MEMORY}"]),
    (b"\x02\x21\x4c\x18", ["lz4", "-q", "-d", "-c"]),
    (b"\x04\x22\x4d\x18", ["lz4", "-q", "-d", "-c"]),
    (b"\x89LZO\0\r\n\x1a\n", ["lzop", "-q", "-d", "-c"]),
)


def is_compressed(data: bytes) -> bool:
    """Whether `data` begins like gzip, bzip2, xz, lzma, zstd, lz4 or lzop."""
    return any(data.startswith(magic) for magic, _ in (*_NATIVE, *_TOOLS))


def decompress(data: bytes, limit: int = LIMIT) -> bytes:
    """The first compressed stream in `data` (see `decompress_first`), without what follows."""
    return decompress_first(data, limit)[0]


def decompress_first(data: bytes, limit: int = LIMIT) -> tuple[bytes, bytes]:
    """What the compressed stream at the start of `data` holds, and the bytes after it.

    Data that is not compressed comes back as it is. Raises BadDeliverable for damaged streams and
    as soon as more than `limit` bytes would come out, without producing them.
    """
    for magic, command in _TOOLS:
        if data.startswith(magic):
            # zstd refuses what is no stream of its own, such as the zeros between two archives.
            end = _zstd_end(data) if magic == _ZSTD else len(data)
            return _by_tool(command, data[:end], limit), data[end:]
    for magic, make in _NATIVE:
        if data.startswith(magic):
            return _by_library(make(), data, limit)
    if len(data) > limit:
        raise BadDeliverable(f"more than {limit} bytes")
    return data, b""


def _by_library(decompressor: _Decompressor, data: bytes, limit: int) -> tuple[bytes, bytes]:
    out = io.BytesIO()  # which gives its content without a second copy
    position = 0
    while not decompressor.eof:
        # zlib hands back what it did not read; the other two keep it and say so.
        chunk: bytes = getattr(decompressor, "unconsumed_tail", b"")
        if not chunk and getattr(decompressor, "needs_input", True):
            chunk = data[position : position + _CHUNK]
            position += len(chunk)
            if not chunk:
                raise BadDeliverable("compressed data ends too early")
        try:
            out.write(decompressor.decompress(chunk, _CHUNK))
        except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
            raise BadDeliverable(f"damaged compressed data: {error}") from None
        if out.tell() > limit:
            raise BadDeliverable(f"compressed data holds more than {limit} bytes")
    return out.getvalue(), decompressor.unused_data + data[position:]


def _by_tool(command: list[str], data: bytes, limit: int) -> bytes:
    done = run_tool(command, stdin=data, limit=limit)
    if done.status != 0:
        raise BadDeliverable(f"damaged compressed data: {done.complaint}")
    return done.stdout


def _zstd_end(data: bytes) -> int:
    """Where the zstd frames at the start of `data` end (RFC 8878); its length when they are cut."""
    at = 0
    while True:
        if skipped := _SKIPPABLE.match(data, at):
            at += 8 + int.from_bytes(skipped[1], "little")
            continue
        if not data.startswith(_ZSTD, at):
            return min(at, len(data))
        flags = int.from_bytes(data[at + 4 : at + 5], "little")
        single, checksum = flags >> 5 & 1, flags >> 2 & 1
        content_size = (single, 2, 4, 8)[flags >> 6]
        at += 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + content_size
        last = 0
        while not last:
            if at + 3 > len(data):
                return len(data)
            block = int.from_bytes(data[at : at + 3], "little")
            last, run = block & 1, block >> 1 & 3 == 1
            at += 3 + (1 if run else block >> 3)
        at += 4 * checksum


_TAR_KINDS: dict[bytes, Kind] = {
    tarfile.REGTYPE: "file", tarfile.AREGTYPE: "file", tarfile.CONTTYPE: "file",
    tarfile.GNUTYPE_SPARSE: "file", tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink",
    tarfile.CHRTYPE: "device", tarfile.BLKTYPE: "device", tarfile.FIFOTYPE: "fifo",
}  # fmt: skip


class Tar(Tree):
    """A tar archive, compressed or not.

    `limit` bounds the archive, packed and unpacked, what its files say that they hold (a sparse
    one says a lot in few bytes), and, once more, what its hard links repeat.
    """

    def __init__(self, path: Path, *, limit: int = LIMIT) -> None:
        super().__init__("the archive")
        self._members: dict[str, tarfile.TarInfo] = {}
        self._left = {"files": limit, "hard links": limit}
        if path.stat().st_size > limit:
            raise BadDeliverable(f"the archive has more than {limit} bytes")
        self._data = decompress(path.read_bytes(), limit)
        try:
            with self._open() as tar:
                last = -1
                for member in tar:
                    # A size below zero leads back, and what was read is kept: memory without end.
                    if member.offset <= last:
                        raise BadDeliverable("not a tar archive: it leads back into itself")
                    last = member.offset
                    self._enter(member)
                end = tar.offset  # where a header was expected: Python ends at a damaged one too
        except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
            raise BadDeliverable(f"not a tar archive: {error}") from None
        if any(self._data[end : end + tarfile.BLOCKSIZE]):
            raise BadDeliverable(f"not a tar archive: damaged at byte {end}")
        if not self._members:
            raise BadDeliverable("the archive is empty")

    def _open(self) -> tarfile.TarFile:
        return tarfile.open(fileobj=io.BytesIO(self._data), mode="r:")

    def _enter(self, member: tarfile.TarInfo) -> None:
        path = self._path(member.name)
        if path == "/":
            return
        if member.islnk():
            content = self._members.get(self._path(member.linkname))
            if content is None:
                raise BadDeliverable(f"{first_line(path)} is a hard link to nothing before it")
        else:
            content = member
        kind = _TAR_KINDS.get(content.type)
        if kind is None:
            raise BadDeliverable(f"{first_line(path)} has the unknown type {member.type!r}")
        if kind == "file":
            self._spend("hard links" if member.islnk() else "files", content.size)
        self._members[path] = content
        self._add(
            Entry(
                path,
                kind,
                content.size if kind == "file" else 0,
                member.mode & 0o7777,
                member.uid,
                member.gid,
                target=member.linkname if kind == "symlink" else "",
            )
        )

    def _spend(self, what: str, size: int) -> None:
        self._left[what] -= size
        if self._left[what] < 0:
            raise BadDeliverable(f"the {what} of the archive hold more than allowed")

    def _read(self, entry: Entry, limit: int) -> bytes:
        try:
            with self._open() as tar:
                stream = tar.extractfile(self._members[entry.path])
                data = stream.read(limit + 1) if stream else b""
        except (tarfile.TarError, OSError, ValueError) as error:
            raise BadDeliverable(f"{first_line(entry.path)} cannot be read: {error}") from None
        if len(data) != entry.size:
            raise BadDeliverable(f"{first_line(entry.path)} is cut off")
        return data

"""Short secrets that nobody may find: also inside of what is compressed or packed.

As `hidden_secrets`, but for a few bytes (a key of an OpenPGP user), on file systems whose blocks
may each begin a packed file, and with formats that a task adds.
"""

from __future__ import annotations

import base64
import io
import mmap
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from benchflow.boot import BadDeliverable, Initramfs, decompress
from benchflow.boot.inspect.openpgp import Key, unarmoured

PIECE_MAX = 64 << 20
#: How deep pieces lie in pieces, and what all that is unpacked may hold together.
DEPTH = 6
TOTAL_MAX = 2 << 30
#: A file begins at a block of its file system, and these are the smallest blocks that ext4 has.
BLOCK = 1024
WINDOW = 8 << 20
_COMPRESSED = (b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"\x5d\0\0", b"\x28\xb5\x2f\xfd",
               b"\x04\x22\x4d\x18")  # fmt: skip
_AR, _ZIP, _CPIO = b"!<arch>\n", b"PK\3\4", b"07070"
_BROKEN = (BadDeliverable, AssertionError, tarfile.TarError, zipfile.BadZipFile, ValueError,
           OSError, EOFError, NotImplementedError, RuntimeError)  # fmt: skip
#: Further formats: how a file of it begins (two bytes at least), and what it holds.
Formats = Mapping[bytes, Callable[[bytes], Iterable[bytes]]]
_NONE: Formats = {}


def forms(key: Key, armour: str) -> list[bytes]:
    """A secret key as bytes, in hexadecimal digits, and as any armour of it has it."""
    seed = key.seed.lstrip(b"\0")
    data = unarmoured(armour, "PGP PRIVATE KEY BLOCK")
    at = data.index(seed)
    text = base64.b64encode(data)
    # Whatever the length of an armour's lines is, one of these lies in one of them.
    first, last = -(-at // 3) * 4, (at + len(seed)) // 3 * 4
    pieces = [text[start : start + 16] for start in range(first, last - 15, 4)]
    return [seed, seed.hex().encode(), seed.hex().upper().encode(), *pieces]


def has_secret(data: bytes, wanted: list[bytes], formats: Formats = _NONE) -> bool:
    """Whether one of these lies in `data`, or in what is packed there."""
    pieces = _pieces(data, DEPTH, [TOTAL_MAX], formats)
    return any(part in piece for piece in pieces for part in wanted)


def disk_has_secret(path: Path, wanted: list[bytes], formats: Formats = _NONE) -> bool:
    """The same of a disk: each of its blocks may be the beginning of a file."""
    left = [TOTAL_MAX]
    begins = b"\x1fB\xfd\x5d\x28\x04!P" + bytes(magic[0] for magic in formats)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as disk:
        if any(disk.find(part) >= 0 for part in wanted):
            return True
        for at in range(0, len(disk), BLOCK):
            if disk[at] in begins and _packed(disk[at : at + 264], formats):
                pieces = _pieces(disk[at : at + WINDOW], DEPTH, left, formats)
                if any(part in piece for piece in pieces for part in wanted):
                    return True
    return False


def _packed(head: bytes, formats: Formats) -> bool:
    known = (*_COMPRESSED, _AR, _ZIP, _CPIO, *formats)
    return head.startswith(known) or head[257:262] == b"ustar"


def _pieces(data: bytes, depth: int, left: list[int], formats: Formats) -> Iterator[bytes]:
    """`data`, and whatever it holds packed; what is broken is nothing but bytes."""
    yield data
    left[0] -= len(data)
    if depth == 0 or left[0] < 0 or not _packed(data[:264], formats):
        return
    added = next((unpack for magic, unpack in formats.items() if data.startswith(magic)), None)
    try:
        for piece in added(data) if added else _members(data):
            yield from _pieces(piece, depth - 1, left, formats)
    except _BROKEN:
        return


def _members(data: bytes) -> Iterator[bytes]:
    if data.startswith(_COMPRESSED):
        yield decompress(data, PIECE_MAX)
    elif data.startswith(_AR):
        at = len(_AR)
        while at + 60 <= len(data):
            size = int(data[at + 48 : at + 58])
            yield data[at + 60 : at + 60 + size]
            at += 60 + max(0, size) + size % 2
    elif data.startswith(_ZIP):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.infolist()[:10_000]:
                with archive.open(name) as member:
                    yield member.read(PIECE_MAX)
    elif data.startswith(_CPIO):
        yield from (content for _, content in Initramfs(data).contents("/"))
    else:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for info in tar:
                if info.isfile() and not info.issparse() and info.size <= PIECE_MAX:
                    content = tar.extractfile(info)
                    yield content.read(PIECE_MAX) if content else b""

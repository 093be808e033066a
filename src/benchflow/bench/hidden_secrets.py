"""A secret that must not be there: looked for in every form that is of use, packed too."""

from __future__ import annotations

import base64
import bz2
import hashlib
import itertools
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchflow.boot import BadDeliverable, decompress

_LIMIT, _MOST, _DEPTH, _LEAST = 96 << 20, 192 << 20, 3, 32
# Looked through in pieces, each with the end of the one before: some views of them are copies.
_PIECE, _BEFORE = 4 << 20, 32 << 10
_BLANKS = b" \t\r\n\0"
# What a compressed stream begins with: gzip, zlib (blocks of squashfs are such), xz, bzip2, lzma,
# zstd, lz4.
_STREAMS = (
    b"\x1f\x8b\x08", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\xfd7zXZ\0", b"BZh",
    b"\x5d\0\0", b"\x28\xb5\x2f\xfd", b"\x02\x21\x4c\x18", b"\x04\x22\x4d\x18",
)  # fmt: skip
_ZSTD_SPAN = 16 << 20


def _unpacked(data: bytes, at: int) -> bytes:
    """What the stream that begins there holds; nothing where it is none."""
    head = data[at : at + 2]
    makers: dict[bytes, Callable[[], Any]] = {
        b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
        b"\xfd7": lambda: lzma.LZMADecompressor(memlimit=256 << 20),
        b"BZ": bz2.BZ2Decompressor,
        b"\x5d\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=256 << 20),
    }
    make = makers.get(head) or ((lambda: zlib.decompressobj(15)) if head[0] == 0x78 else None)
    try:
        if make is None:
            return decompress(data[at : at + _ZSTD_SPAN], _LIMIT)
        stream, parts, size = make(), [], 0
        for begin in range(at, len(data), 1 << 16):
            piece = stream.decompress(data[begin : begin + (1 << 16)], _LIMIT - size)
            parts.append(piece)
            size += len(piece)
            if stream.eof or size >= _LIMIT or (not piece and begin > at + (1 << 20)):
                break
        return b"".join(parts)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, BadDeliverable):
        return b""


def unpacked(data: bytes) -> Iterator[bytes]:
    """`data`, and what is packed in it, and in that, up to a depth and a sum of bytes."""
    yield data
    room = [_MOST]
    yield from _inside(data, _DEPTH, room)


def all_unpacked(places: Iterable[bytes]) -> Iterator[bytes]:
    """Each of these, and what is packed in it."""
    return itertools.chain.from_iterable(unpacked(place) for place in places)


def _beginnings(data: bytes) -> Iterator[int]:
    for magic in _STREAMS:
        at = data.find(magic)
        while at >= 0:
            yield at
            at = data.find(magic, at + 1)


def _inside(data: bytes, depth: int, room: list[int]) -> Iterator[bytes]:
    for at in _beginnings(data):
        inside = _unpacked(data, at)
        if len(inside) < _LEAST or room[0] < len(inside):
            continue
        room[0] -= len(inside)
        yield inside
        if depth > 1:
            yield from _inside(inside, depth - 1, room)


def _spread(data: bytes) -> bytes:
    """The difference of each byte from its neighbour: the same whatever all were XORed with."""
    number = int.from_bytes(data, "big")
    return (number ^ (number >> 8)).to_bytes(len(data) + 1, "big")[2:]


def _texts(secret: bytes) -> Iterator[bytes]:
    """A secret as hexadecimal digits and as base64, wherever in a run of bytes it begins."""
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    for before in range(3):
        text = base64.b64encode(bytes(before) + secret)
        middle = text[-(-before * 8 // 6) : len(text) - 4]
        yield middle
        yield middle.translate(bytes.maketrans(b"+/", b"-_"))


def holds(places: Iterable[bytes], secrets: Mapping[str, bytes]) -> str:
    """Which secret is there and in which form; an empty string where none is.

    Looked for as it is, reversed, XORed with one byte, as hexadecimal digits and base64. What is
    packed has to be `unpacked` before.
    """
    forms = {
        "as it is or reversed": {n: [s, s[::-1]] for n, s in secrets.items()},
        "as text": {n: list(_texts(s)) for n, s in secrets.items()},
        "XORed with one byte": {n: [_spread(s)] for n, s in secrets.items()},
    }
    views: tuple[Callable[[bytes], bytes], ...] = (
        lambda part: part,
        lambda part: part.translate(None, _BLANKS),
        _spread,
    )
    for piece in itertools.chain.from_iterable(_pieces(place) for place in places):
        for view, (form, needles) in zip(views, forms.items(), strict=True):
            seen = view(piece)
            for name, looks in needles.items():
                if any(look in seen for look in looks):
                    return f"{name}, {form}"
    return ""


def _pieces(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), _PIECE):
        yield data[max(0, at - _BEFORE) : at + _PIECE]


def of_ed25519(seed: bytes) -> dict[str, bytes]:
    """What a private key of Ed25519 could be kept as, for `holds`: its seed, or what signs."""
    scalar = hashlib.sha512(seed).digest()[:32]
    clamped = bytes([scalar[0] & 248, *scalar[1:31], scalar[31] & 63 | 64])
    return {"the private key": seed, "its scalar": scalar, "its scalar, clamped": clamped}


def pieces(path: Path, piece: int = 96 << 20, before: int = 16 << 20) -> Iterator[bytes]:
    """A large file for `unpacked`, in pieces that begin with the end of the one before; those that
    are all zeros are left out."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        for at in range(0, size, piece):
            start = max(0, at - before)
            stream.seek(start)
            data = stream.read(min(at + piece, size) - start)
            if data.count(0) != len(data):
                yield data

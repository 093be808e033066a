"""A screenshot as a page may carry it: its pixels and nothing else that was in the file."""

from __future__ import annotations

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: What a picture is drawn from; texts, times, colour profiles and what came after are dropped.
_DRAWN = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_MOST_PIXELS = 8_000_000
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def clean(data: bytes) -> bytes | None:
    """`data` without what is not drawn; None for what is no whole PNG of a bounded size."""
    if not data.startswith(_SIGNATURE):
        return None
    kept: list[bytes] = [_SIGNATURE]
    packed: list[bytes] = []
    at, kinds = len(_SIGNATURE), []
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        checksum = data[at + 8 + length : at + 12 + length]
        if len(body) < length or zlib.crc32(kind + body).to_bytes(4) != checksum:
            return None
        if kind in _DRAWN:
            kept.append(data[at : at + 12 + length])
            kinds.append(kind)
        if kind == b"IDAT":
            packed.append(body)
        at += 12 + length
        if kind == b"IEND":
            break
    if not kinds or kinds[0] != b"IHDR" or kinds[-1] != b"IEND" or len(kept[1]) != 25:
        return None
    return b"".join(kept) if _is_whole(kept[1][8:21], b"".join(packed)) else None


def _is_whole(header: bytes, packed: bytes) -> bool:
    """Whether the pixels are as many as the header says, so that no decoder meets a surprise."""
    width, height, depth, colour, _, _, laced = map(int, struct.unpack(">IIBBBBB", header))
    if depth not in _DEPTHS.get(colour, ()) or laced or not 0 < width * height <= _MOST_PIXELS:
        return False
    wanted = height * (1 + (width * _CHANNELS[colour] * depth + 7) // 8)
    try:
        unpacked = zlib.decompressobj().decompress(packed, wanted + 1)
    except zlib.error:
        return False
    return len(unpacked) == wanted

"""What a kernel file says of itself: it is unpacked here, never run."""

from __future__ import annotations

import lzma
import re
import struct
import zlib
from dataclasses import dataclass

LIMIT = 128 << 20
CONFIG_LIMIT = 4 << 20


class BadKernel(Exception):
    """Not an x86 kernel, or packed in a way that cannot be opened."""


@dataclass
class Kernel:
    banner: str
    config: dict[str, str]
    image: bytes


def is_kernel(data: bytes) -> bool:
    return data[0x202:0x206] == b"HdrS"


def unpack(data: bytes) -> Kernel:
    if not is_kernel(data):
        raise BadKernel("not an x86 boot image")
    setup = data[0x1F1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (setup + 1) * 512 + offset
    image = _decompress(data[start : start + length])
    banner = re.search(rb"Linux version [^\0\n]{10,400} #[^\0\n]{4,200}", image)
    if banner is None:
        raise BadKernel("no version banner in the kernel")
    return Kernel(banner[0].decode("latin-1"), _config(image), image)


def _decompress(packed: bytes) -> bytes:
    try:
        if packed[:2] == b"\x1f\x8b":
            image = zlib.decompressobj(31).decompress(packed, LIMIT)
        elif packed[:6] == b"\xfd7zXZ\0":
            image = lzma.LZMADecompressor(memlimit=512 << 20).decompress(packed, LIMIT)
        else:
            raise BadKernel("the kernel is packed neither with gzip nor with xz")
    except (zlib.error, lzma.LZMAError) as error:
        raise BadKernel(f"the packed kernel is damaged: {error}") from error
    if len(image) >= LIMIT or not image.startswith(b"\x7fELF"):
        raise BadKernel("what is packed in the kernel is no kernel")
    return image


def _config(image: bytes) -> dict[str, str]:
    start = image.find(b"IKCFG_ST")
    end = image.find(b"IKCFG_ED", start)
    if start < 0 or end < 0:
        return {}
    return parse_config(gunzip(image[start + 8 : end]))


def gunzip(packed: bytes) -> str:
    try:
        return zlib.decompressobj(31).decompress(packed, CONFIG_LIMIT).decode(errors="replace")
    except zlib.error as error:
        raise BadKernel(f"the configuration is damaged: {error}") from error


def parse_config(text: str) -> dict[str, str]:
    """NAME without CONFIG_ to value; what is not set is missing."""
    return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.MULTILINE))

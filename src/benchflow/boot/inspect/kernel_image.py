"""What a delivered kernel says about itself, without running it."""

from __future__ import annotations

import re
import struct

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.archive import decompress, decompress_first, is_compressed
from benchflow.boot.sanitize import clean

LIMIT = 256 << 20
_BANNER = re.compile(rb"Linux version (\S+ \([^\0\n]{0,400}?\) [^\0\n]{0,400})")
# Documentation/arch/x86/boot.rst: the real-mode header and the fields used here.
_SETUP_SECTS, _HDRS, _PROTOCOL, _VERSION = 0x1F1, 0x202, 0x206, 0x20E
_PAYLOAD_OFFSET, _PAYLOAD_LENGTH = 0x248, 0x24C


def is_bzimage(data: bytes) -> bool:
    """Whether `data` is an x86 bzImage."""
    return data[_HDRS : _HDRS + 4] == b"HdrS"


def is_efi_zboot(data: bytes) -> bool:
    """Whether `data` is a self-unpacking EFI kernel (arm64, riscv64)."""
    return data[:2] == b"MZ" and data[4:8] == b"zimg"


def unpack_kernel(data: bytes, limit: int = LIMIT) -> bytes:
    """The kernel proper (an ELF file or a flat image) inside a bzImage, an EFI zboot image or a
    compressed Image. Raises BadDeliverable when it is damaged."""
    if is_bzimage(data):
        if len(data) < 0x260 or _u16(data, _PROTOCOL) < 0x208:
            raise BadDeliverable("the bzImage is too old or cut off")
        start = ((data[_SETUP_SECTS] or 4) + 1) * 512 + _u32(data, _PAYLOAD_OFFSET)
        return _payload(data, start, _u32(data, _PAYLOAD_LENGTH), limit)
    if is_efi_zboot(data):
        return _payload(data, _u32(data, 8), _u32(data, 12), limit)
    if is_compressed(data):
        return decompress(data, limit)
    return data


def _payload(data: bytes, start: int, size: int, limit: int) -> bytes:
    payload = data[start : start + size]
    if len(payload) != size or not is_compressed(payload):
        raise BadDeliverable("the kernel's payload is damaged")
    # gzip carries its size inside; after the other formats the build appends four bytes of size.
    if payload[:2] == b"\x1f\x8b":
        return decompress_first(payload, limit)[0]
    return decompress(payload[:-4], limit)


def kernel_banner(data: bytes, limit: int = LIMIT) -> str:
    """The line after `Linux version ` that this kernel prints: release, builder, compiler, date."""
    match = _BANNER.search(unpack_kernel(data, limit))
    if match is None:
        raise BadDeliverable("no Linux version string in the kernel")
    return clean(match[1].decode(errors="replace"), 800)


def kernel_release(data: bytes, limit: int = LIMIT) -> str:
    """The release (`uname -r`): from the header of a bzImage, otherwise from the banner."""
    if is_bzimage(data) and len(data) >= 0x210:
        start = _u16(data, _VERSION) + 0x200
        text = data[start : start + 200].split(b"\0")[0].decode(errors="replace").split()
        if text:
            return clean(text[0], 200)
        raise BadDeliverable("the bzImage has no version string")
    return kernel_banner(data, limit).split()[0]


def _u16(data: bytes, offset: int) -> int:
    return _number("<H", data, offset)


def _u32(data: bytes, offset: int) -> int:
    return _number("<I", data, offset)


def _number(form: str, data: bytes, offset: int) -> int:
    try:
        value: int = struct.unpack_from(form, data, offset)[0]
    except struct.error:
        raise BadDeliverable("the kernel is cut off") from None
    return value

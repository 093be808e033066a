"""Static programs of a few bytes that put one question to the kernel.

Each makes one system call and ends with its error number: 1 is EPERM, 38 ENOSYS, 0 success.
"""

from __future__ import annotations

import struct

EPERM, ENOSYS = 1, 38
_BASE, _HEADERS = 0x400000, 64 + 56
# x86-64: the registers of the first five arguments, as opcodes that load 32 bits.
_LOADS = (b"\xbf", b"\xbe", b"\xba", b"\x41\xba", b"\x41\xb8")
_NOBODY = 0xFFFFFFFF  # a file descriptor that is none


def program(number: int, *arguments: int) -> bytes:
    """An ELF file that makes this system call."""
    code = b"".join(
        load + struct.pack("<I", value) for load, value in zip(_LOADS, arguments, strict=False)
    )
    code += b"\xb8" + struct.pack("<I", number) + b"\x0f\x05"
    code += b"\xf7\xd8\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05"  # exit(-result)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = _HEADERS + len(code)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
    return head + code


PROBES = {
    "getuid": program(102),
    "iopl": program(172, 3),
    "init-module": program(175, 0, 0, 0),
    "finit-module": program(313, _NOBODY, 0, 0),
    "kexec-load": program(246, 0, 0, 0, 0),
    "kexec-file-load": program(320, _NOBODY, _NOBODY, 0, 0, 0),
}

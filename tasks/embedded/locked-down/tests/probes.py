"""Static programs of some hundred bytes that put one question to the kernel.

They ask it themselves, by mounts of their own on /mnt: neither the shell's tools nor what is
mounted where can answer for it. Each ends with an error number (1 is EPERM, 38 ENOSYS, 0 success);
where what had to come before the question failed, with 100 more.
"""

from __future__ import annotations

import stat
import struct
from dataclasses import dataclass

EPERM, ENOENT, ENOSYS = 1, 2, 38
BEFORE = 100  # added to the number of what failed before the question
_BASE, _HEADERS = 0x400000, 64 + 56
_BUFFER, _MEMORY = _BASE + 0x2000, 0x4000  # a page-aligned place for answers
# x86-64: the registers of the first five arguments, as opcodes that load 32 bits …
_LOADS = (b"\xbf", b"\xbe", b"\xba", b"\x41\xba", b"\x41\xb8")
# … and as those that take them from where `keep` put a result (r12d, r13d).
_KEPT = {
    "one": (b"\x44\x89\xe7", b"\x44\x89\xe6", b"\x44\x89\xe2", b"\x45\x89\xe2", b"\x45\x89\xe0"),
    "two": (b"\x44\x89\xef", b"\x44\x89\xee", b"\x44\x89\xea", b"\x45\x89\xea", b"\x45\x89\xe8"),
}
_NOBODY = 0xFFFFFFFF  # a file descriptor that is none
_READ, _WRITE, _OPEN, _STAT, _PREAD, _EXIT, _READLINK = 0, 1, 2, 4, 17, 60, 89
_MKNOD, _MOUNT, _UMOUNT, _DETACH, _DIRECT = 133, 165, 166, 2, 0x4000


@dataclass(frozen=True)
class Text:
    """A string of the program's."""

    content: bytes


class Code:
    """Machine code, system call by system call."""

    def __init__(self) -> None:
        self._parts: list[bytes | Text] = []

    def call(self, number: int, *arguments: int | str | Text) -> Code:
        """One system call; an argument is a number, a string, or the name of what was kept."""
        for index, value in enumerate(arguments):
            if isinstance(value, str):
                self._parts.append(_KEPT[value][index])
            elif isinstance(value, Text):
                self._parts += [_LOADS[index], value]
            else:
                self._parts.append(_LOADS[index] + struct.pack("<I", value))
        self._parts.append(b"\xb8" + struct.pack("<I", number) + b"\x0f\x05")
        return self

    def keep(self, name: str) -> Code:
        """Remember the result."""
        self._parts.append({"one": b"\x41\x89\xc4", "two": b"\x41\x89\xc5"}[name])
        return self

    def load(self, address: int) -> Code:
        """Take 32 bits of the memory as the result."""
        self._parts.append(b"\x8b\x04\x25" + struct.pack("<I", address))
        return self

    def recall(self, name: str) -> Code:
        """The result is what was kept."""
        self._parts.append({"one": b"\x44\x89\xe0", "two": b"\x44\x89\xe8"}[name])
        return self

    def or_end(self, more: int = 0) -> Code:
        """When the result is an error, end with its number and `more`."""
        end = b"\xf7\xd8\x05" + struct.pack("<I", more) + b"\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05"
        self._parts.append(b"\x85\xc0\x79" + bytes([len(end)]) + end)
        return self

    def program(self) -> bytes:
        """An ELF file that does this and ends with 0."""
        self.call(_EXIT, 0)
        start = _BASE + _HEADERS
        end = start + sum(4 if isinstance(part, Text) else len(part) for part in self._parts)
        code, texts = b"", b""
        for part in self._parts:
            if isinstance(part, Text):
                code += struct.pack("<I", end + len(texts))
                texts += part.content + b"\0"
            else:
                code += part
        code += texts
        head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
        head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
        size = _HEADERS + len(code)
        assert size <= _BUFFER - _BASE
        head += struct.pack("<IIQQQQQQ", 1, 7, 0, _BASE, _BASE, size, _MEMORY, 0x1000)
        return head + code


def asks(number: int, *arguments: int) -> bytes:
    """A program that makes this system call."""
    return Code().call(number, *arguments).or_end().program()


def _over_mnt(code: Code, kind: str) -> Code:
    return code.call(_MOUNT, Text(b"x"), Text(b"/mnt"), Text(kind.encode()), 0, 0).or_end(BEFORE)


def shows(kind: str, path: str) -> bytes:
    """A program that prints a file of the kernel's file system `kind`, freshly mounted."""
    code = _over_mnt(Code(), kind).call(_OPEN, Text(f"/mnt/{path}".encode()), 0, 0).keep("one")
    code.call(_UMOUNT, Text(b"/mnt"), _DETACH).recall("one").or_end()
    code.call(_READ, "one", _BUFFER, 4096).or_end().keep("two")
    return code.call(_WRITE, 1, _BUFFER, "two").program()


def leads(path: str) -> bytes:
    """A program that prints where a link in the kernel's /proc leads."""
    code = _over_mnt(Code(), "proc")
    code.call(_READLINK, Text(f"/mnt/{path}".encode()), _BUFFER, 256).keep("two")
    code.call(_UMOUNT, Text(b"/mnt"), _DETACH).recall("two").or_end()
    return code.call(_WRITE, 1, _BUFFER, "two").program()


def _opened_node(code: Code, kind: int, device: int | str, flags: int) -> Code:
    """On a file system of its own: a device node is made and opened."""
    _over_mnt(code, "ramfs").call(_MKNOD, Text(b"/mnt/x"), kind | 0o600, device)
    code.or_end(BEFORE).call(_OPEN, Text(b"/mnt/x"), flags, 0).keep("one")
    return code.call(_UMOUNT, Text(b"/mnt"), _DETACH).recall("one").or_end()


def reads_device(major: int, minor: int) -> bytes:
    """A program that makes a character device's node, opens it and reads of it."""
    code = _opened_node(Code(), stat.S_IFCHR, major << 8 | minor, 0)
    return code.call(_READ, "one", _BUFFER, 16).or_end().program()


def reads_root(place: int) -> bytes:
    """A program that prints 64 bytes of the device on which / lies, read past all caches."""
    code = Code().call(_STAT, Text(b"/"), _BUFFER).or_end(BEFORE).load(_BUFFER).keep("two")
    _opened_node(code, stat.S_IFBLK, "two", _DIRECT)
    page = place // 4096 * 4096
    code.call(_PREAD, "one", _BUFFER, 4096, page).or_end()
    return code.call(_WRITE, 1, _BUFFER + min(place - page, 4096 - 64), 64).program()


PROBES = {
    "getuid": asks(102),
    "iopl": asks(172, 3),
    "ioperm": asks(173, 0x70, 2, 1),
    "init-module": asks(175, 0, 0, 0),
    "finit-module": asks(313, _NOBODY, 0, 0),
    "kexec-load": asks(246, 0, 0, 0, 0),
    "kexec-file-load": asks(320, _NOBODY, _NOBODY, 0, 0, 0),
    "lockdown": shows("securityfs", "lockdown"),
    "cmdline": shows("proc", "cmdline"),
    "version": shows("proc", "version"),
    "sysrq": shows("proc", "sys/kernel/sysrq"),
    "kcore": shows("proc", "kcore"),
    "self": shows("proc", "self/status"),
    "first": shows("proc", "1/status"),
    "user-space": leads("self/ns/user"),
    "process-space": leads("self/ns/pid"),
    "memory": reads_device(1, 1),
    "port": reads_device(1, 4),
}

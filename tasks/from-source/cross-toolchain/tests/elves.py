"""ELF files as the linker left them: what `boot` does not read. Every number is bounded first."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from benchflow.boot import BadDeliverable, Elf

RISCV, X86_64 = 243, 62
EXEC, DYN, REL = 2, 3, 1
_LOAD, _DYNAMIC, _INTERP = 1, 2, 3
_STACK, _RELRO = 0x6474E551, 0x6474E552
_NEEDED, _STRTAB, _STRSZ, _BIND_NOW, _FLAGS, _FLAGS_1 = 1, 5, 10, 24, 30, 0x6FFFFFFB
_HASH, _GNU_HASH = 4, 0x6FFFFEF5
_HEADERS_MAX, _DYNAMIC_MAX = 64, 512
RVC, DOUBLE = 1, 4  # of a RISC-V file's flags
_AR = b"!<arch>\n"


@dataclass(frozen=True)
class Facts:
    """What loader and kernel see of a file."""

    machine: int
    kind: int
    flags: int
    interpreter: str
    needed: tuple[str, ...]
    dynamic: bool
    relro: bool
    now: bool
    pie: bool
    gnu_hash: bool
    sysv_hash: bool
    stack_flags: int | None
    stack_size: int
    writable_code: bool
    imports: bytes
    build_id: str
    comments: tuple[str, ...]


def read(data: bytes) -> Facts:
    """Raises BadDeliverable for what is no little-endian 64-bit ELF file."""
    if len(data) < 64 or data[:6] != b"\x7fELF\2\1":
        raise BadDeliverable("not a 64-bit ELF file")
    kind, machine = struct.unpack_from("<HH", data, 16)
    flags, _, size, count = struct.unpack_from("<IHHH", data, 48)
    offset = struct.unpack_from("<Q", data, 32)[0]
    if count > _HEADERS_MAX or (count and (size != 56 or offset + count * size > len(data))):
        raise BadDeliverable("an ELF file with damaged program headers")
    heads = [struct.unpack_from("<IIQQQQQQ", data, offset + 56 * n) for n in range(count)]
    tags = _dynamic(data, heads)
    stack = next((h for h in heads if h[0] == _STACK), None)
    flags_1 = tags.get(_FLAGS_1, [0])[0]
    elf = Elf(data)
    return Facts(
        machine, kind, flags, elf.interpreter, tuple(elf.needed),
        dynamic=bool(tags), relro=any(h[0] == _RELRO for h in heads),
        now=bool(flags_1 & 1 or tags.get(_FLAGS, [0])[0] & 8 or _BIND_NOW in tags),
        pie=kind == DYN and bool(flags_1 & 0x08000000),
        gnu_hash=_GNU_HASH in tags, sysv_hash=_HASH in tags,
        stack_flags=None if stack is None else stack[1], stack_size=stack[6] if stack else 0,
        writable_code=any(h[0] == _LOAD and h[1] & 3 == 3 for h in heads),
        imports=_names(data, heads, tags), build_id=elf.build_id, comments=tuple(elf.comments),
    )  # fmt: skip


def _dynamic(data: bytes, heads: list[tuple[int, ...]]) -> dict[int, list[int]]:
    tags: dict[int, list[int]] = {}
    part = next((h for h in heads if h[0] == _DYNAMIC), None)
    if part is None:
        return tags
    for n in range(min(part[5] // 16, _DYNAMIC_MAX)):
        at = part[2] + 16 * n
        if at + 16 > len(data):
            raise BadDeliverable("an ELF file whose dynamic section is cut off")
        tag, value = struct.unpack_from("<qQ", data, at)
        if tag == 0:
            break
        tags.setdefault(tag, []).append(value)
    return tags


def _names(data: bytes, heads: list[tuple[int, ...]], tags: dict[int, list[int]]) -> bytes:
    """The table of names of a dynamic file."""
    if _STRTAB not in tags or _STRSZ not in tags:
        return b""
    address, size = tags[_STRTAB][0], tags[_STRSZ][0]
    for _, _, offset, start, _, held, _, _ in (h for h in heads if h[0] == _LOAD):
        if start <= address and address + size <= start + held:
            return data[offset + address - start :][:size]
    return b""


def objects(data: bytes) -> list[bytes]:
    """The ELF files in an archive of `ar`, or the file itself, or nothing."""
    if data[:4] == b"\x7fELF":
        return [data]
    found: list[bytes] = []
    at = len(_AR)
    if data[: len(_AR)] != _AR:
        return found
    while at + 60 <= len(data):
        size = data[at + 48 : at + 58].strip()
        if data[at + 58 : at + 60] != b"`\n" or not size.isdigit():
            raise BadDeliverable("a damaged archive of ar")
        body = data[at + 60 : at + 60 + int(size)]
        if body[:4] == b"\x7fELF":
            found.append(body)
        at += 60 + int(size) + (int(size) & 1)
    return found


# Constants of a static glibc lie beside strings ("/var/run/nscd/so" before "dl-find_object.c").
_PLACE = re.compile(
    rb"(?<![\w./+*-])(?!/(?:var/run|dev|etc|proc|sys|usr/include)/)"
    rb"/[\w.+-]+(?:/[\w.+-]+)+\.(?:c|cc|cpp|cxx|h|hh|hpp|tcc|S|y|l|def|md)(?![\w./])"
)


def places(data: bytes) -> list[str]:
    """Absolute names of source files that somebody's machine has left in a compiled file."""
    return sorted({found.decode() for found in _PLACE.findall(data)})

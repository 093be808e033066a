"""As much of ELF as the checks need; everything odd raises BadElf."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

LOAD, DYNAMIC, INTERP, NOTE = 1, 2, 3, 4
NEEDED, HASH, STRTAB, SYMTAB, SONAME = 1, 4, 5, 6, 14
GNU_HASH, VERNEED = 0x6FFFFEF5, 0x6FFFFFFE


class BadElf(Exception):
    """Not an ELF file that can be read."""


@dataclass
class Elf:
    """A 64-bit little-endian program or library."""

    interpreter: str = ""
    dynamic: bool = False
    needed: list[str] = field(default_factory=list)
    soname: str = ""
    defined: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    versioned: bool = False
    build_id: str = ""


def is_elf(data: bytes) -> bool:
    return data[:4] == b"\x7fELF"


def is_narrow(data: bytes) -> bool:
    """Whether it is a 32-bit file: no program of a unit is, the modules of boot loaders are."""
    return is_elf(data) and data[4:5] == b"\x01"


def parse(data: bytes) -> Elf:
    if not is_elf(data) or data[4:6] != b"\x02\x01":
        raise BadElf("not a 64-bit little-endian ELF file")
    try:
        return _parse(data)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise BadElf(f"damaged: {error}") from error


def _parse(data: bytes) -> Elf:
    result = Elf()
    (phoff,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = []
    for index in range(count):
        kind, _, offset, address, _, length, _, _ = struct.unpack_from(
            "<IIQQQQQQ", data, phoff + index * size
        )
        segments.append((kind, offset, address, length))
    for kind, offset, _, length in segments:
        if kind == INTERP:
            result.interpreter = data[offset : offset + length].rstrip(b"\0").decode()
        elif kind == NOTE:
            result.build_id = result.build_id or build_id(data[offset : offset + length])
        elif kind == DYNAMIC:
            result.dynamic = True
            _dynamic(data, offset, length, segments, result)
    return result


def _dynamic(
    data: bytes, offset: int, length: int, segments: list[tuple[int, int, int, int]], result: Elf
) -> None:
    def place(address: int) -> int:
        for kind, start, base, extent in segments:
            if kind == LOAD and base <= address < base + extent:
                return start + address - base
        raise BadElf(f"no segment holds address {address:#x}")

    entries: dict[int, int] = {}
    needed = []
    for tag, value in struct.iter_unpack("<qQ", data[offset : offset + length // 16 * 16]):
        if tag == 0:
            break
        if tag == NEEDED:
            needed.append(value)
        entries[tag] = value
    result.versioned = VERNEED in entries
    if STRTAB not in entries:
        return
    strings = place(entries[STRTAB])

    def text(at: int) -> str:
        return data[strings + at : data.index(b"\0", strings + at)].decode()

    result.needed = [text(value) for value in needed]
    if SONAME in entries:
        result.soname = text(entries[SONAME])
    if SYMTAB not in entries:
        return
    symbols = place(entries[SYMTAB])
    for index in range(1, _symbol_count(data, entries, place)):
        name, _, _, section = struct.unpack_from("<IBBH", data, symbols + index * 24)
        (result.defined if section else result.imported).add(text(name))


def _symbol_count(data: bytes, entries: dict[int, int], place) -> int:
    if HASH in entries:
        return struct.unpack_from("<II", data, place(entries[HASH]))[1]
    if GNU_HASH not in entries:
        return 0
    start = place(entries[GNU_HASH])
    buckets, first, words, _ = struct.unpack_from("<IIII", data, start)
    table = start + 16 + words * 8
    last = max(struct.unpack_from(f"<{buckets}I", data, table), default=0)
    if last < first:
        return first
    chain = table + buckets * 4
    while not struct.unpack_from("<I", data, chain + (last - first) * 4)[0] & 1:
        last += 1
    return last + 1


def build_id(notes: bytes) -> str:
    """The GNU build-id in a block of notes, or an empty string."""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, at)
        body = at + 12 + (name + 3 & ~3)
        if kind == 3 and notes[at + 12 : at + 12 + name] == b"GNU\0":
            return notes[body : body + size].hex()
        at = body + (size + 3 & ~3)
    return ""

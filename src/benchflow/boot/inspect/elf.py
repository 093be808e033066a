"""What an ELF file says about who built it: compiler comments, build-id, interpreter, libraries."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from benchflow.boot.errors import BadDeliverable

_MAX_TABLE = 100_000
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 1, 2, 3, 4
_SHT_NOTE, _SHT_NOBITS = 7, 8
_DT_NEEDED, _DT_STRTAB = 1, 5
_NT_GNU_BUILD_ID = 3
_MACHINES = {3: "i386", 62: "x86_64", 183: "aarch64", 243: "riscv64", 40: "arm"}


def is_elf(data: bytes) -> bool:
    """Whether `data` begins like an ELF file."""
    return data[:4] == b"\x7fELF"


def strings(data: bytes, minimum: int = 6) -> Iterator[str]:
    """Runs of printable ASCII of at least `minimum` characters, like strings(1)."""
    for match in re.finditer(rb"[\x20-\x7e\t]{%d,}" % minimum, data):
        yield match[0].decode()


@dataclass(frozen=True)
class _Part:
    """A segment or a section: what it is, and where in the file."""

    type: int
    offset: int
    size: int
    address: int = 0
    name: int = 0


class Elf:
    """A parsed ELF file; every number in it is checked before it is used.

    Raises BadDeliverable when `data` is no ELF file or its headers are damaged.
    """

    def __init__(self, data: bytes) -> None:
        if not is_elf(data) or len(data) < 52 or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise BadDeliverable("not an ELF file")
        self.data = data
        self._wide = data[4] == 2
        self._order = "<" if data[5] == 1 else ">"
        header = "HHIQQQIHHHHHH" if self._wide else "HHIIIIIHHHHHH"
        fields = self._unpack(header, 16)
        self.machine = _MACHINES.get(fields[1], str(fields[1]))
        self._segments = list(self._headers(fields[4], fields[8], fields[9], self._segment))
        self._sections = list(self._headers(fields[5], fields[10], fields[11], self._section))
        self._names = fields[12]

    @cached_property
    def interpreter(self) -> str:
        """The dynamic loader; empty for static programs, libraries and objects."""
        for part in self._segments:
            if part.type == _PT_INTERP:
                return self._bytes(part).rstrip(b"\0").decode(errors="replace")
        return ""

    @cached_property
    def needed(self) -> list[str]:
        """The libraries that it is linked to."""
        dynamic = next((p for p in self._segments if p.type == _PT_DYNAMIC), None)
        if dynamic is None:
            return []
        width = 16 if self._wide else 8
        form = "qQ" if self._wide else "iI"
        count = min(dynamic.size // width, _MAX_TABLE)
        entries = [self._unpack(form, dynamic.offset + n * width) for n in range(count)]
        table = next((value for tag, value in entries if tag == _DT_STRTAB), None)
        if table is None:
            return []
        start = self._file_offset(table)
        return [self._string(start + value) for tag, value in entries if tag == _DT_NEEDED]

    @cached_property
    def build_id(self) -> str:
        """The GNU build-id in hexadecimal digits; empty when there is none."""
        notes = [p for p in self._segments if p.type == _PT_NOTE]
        notes += [p for p in self._sections if p.type == _SHT_NOTE]
        for part in notes:
            for name, kind, body in self._notes(self._bytes(part)):
                if name == b"GNU" and kind == _NT_GNU_BUILD_ID:
                    return body.hex()
        return ""

    @cached_property
    def comments(self) -> list[str]:
        """The compilers that wrote its parts (`.comment`), without repetition."""
        body = self.section(".comment") or b""
        texts = [text.decode(errors="replace") for text in body.split(b"\0") if text]
        return list(dict.fromkeys(texts))

    def section(self, name: str) -> bytes | None:
        """The bytes of a section, or None when there is no section of this name."""
        if self._names >= len(self._sections):
            return None
        names = self._bytes(self._sections[self._names])
        for part in self._sections:
            end = names.find(b"\0", part.name)
            if names[part.name : end] == name.encode():
                return self._bytes(part)
        return None

    def _notes(self, data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        at = 0
        while at + 12 <= len(data):
            name_size, body_size, kind = struct.unpack_from(f"{self._order}III", data, at)
            body = at + 12 + ((name_size + 3) & ~3)
            if body + body_size > len(data):
                return
            name = data[at + 12 : at + 12 + name_size].rstrip(b"\0")
            yield name, kind, data[body : body + body_size]
            at = body + ((body_size + 3) & ~3)

    def _headers(self, offset: int, size: int, count: int, parse: object) -> Iterator[_Part]:
        assert callable(parse)
        if offset == 0 or count == 0:
            return
        if count * size > len(self.data):
            raise BadDeliverable("the ELF file's tables are damaged")
        for number in range(count):
            yield parse(offset + number * size)

    def _segment(self, at: int) -> _Part:
        if self._wide:
            kind, _, offset, address, _, size = self._unpack("IIQQQQ", at)
        else:
            kind, offset, address, _, size = self._unpack("IIIII", at)
        return _Part(kind, offset, size, address)

    def _section(self, at: int) -> _Part:
        form = "IIQQQQ" if self._wide else "IIIIII"
        name, kind, _, address, offset, size = self._unpack(form, at)
        return _Part(kind, offset, 0 if kind == _SHT_NOBITS else size, address, name)

    def _bytes(self, part: _Part) -> bytes:
        if part.offset + part.size > len(self.data):
            raise BadDeliverable("the ELF file is cut off")
        return self.data[part.offset : part.offset + part.size]

    def _file_offset(self, address: int) -> int:
        for part in self._segments:
            if part.type == _PT_LOAD and part.address <= address < part.address + part.size:
                return address - part.address + part.offset
        raise BadDeliverable("the ELF file's dynamic section is damaged")

    def _string(self, offset: int) -> str:
        end = self.data.find(b"\0", offset, offset + 4096)
        if end < 0:
            raise BadDeliverable("the ELF file's names are damaged")
        return self.data[offset:end].decode(errors="replace")

    def _unpack(self, form: str, at: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(self._order + form, self.data, at)
        except (struct.error, OverflowError):
            raise BadDeliverable("the ELF file is cut off") from None

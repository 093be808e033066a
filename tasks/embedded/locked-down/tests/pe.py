"""EFI programs: sections, the digest that is signed, and signing (PE format, Authenticode).

The files come from a stranger: every offset is checked before it is used.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from rsa import Key, attribute_pkcs7

_MAX_SECTIONS = 64


@dataclass(frozen=True)
class Section:
    """Where a section's bytes lie in the file."""

    name: str
    start: int
    size: int


class Program:
    """An EFI program for x86-64. AssertionError for anything else."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        assert len(data) > 0x200 and data[:2] == b"MZ", "no EFI program (MZ)"
        (pe,) = struct.unpack_from("<I", data, 0x3C)
        assert pe + 0x108 <= len(data) and data[pe : pe + 4] == b"PE\0\0", "no EFI program (PE)"
        machine, count = struct.unpack_from("<HH", data, pe + 4)
        (optional,) = struct.unpack_from("<H", data, pe + 20)
        (magic,) = struct.unpack_from("<H", data, pe + 24)
        assert machine == 0x8664 and magic == 0x20B, "no EFI program for x86-64"
        (subsystem,) = struct.unpack_from("<H", data, pe + 24 + 68)
        assert subsystem == 10, "not an EFI application"
        (directories,) = struct.unpack_from("<I", data, pe + 24 + 108)
        assert directories >= 5 and optional >= 112 + 5 * 8, (
            "an EFI program without a place to sign"
        )
        assert 0 < count <= _MAX_SECTIONS, f"{count} sections"
        self.checksum_at = pe + 24 + 64
        self.directory_at = pe + 24 + 112 + 4 * 8
        table = pe + 24 + optional
        assert table + count * 40 <= len(data), "the section table is cut off"
        self.sections: list[Section] = []
        for index in range(count):
            name, virtual, _, raw, start = struct.unpack_from("<8sIIII", data, table + index * 40)
            size = min(virtual, raw) if virtual else raw
            assert start + raw <= len(data), "a section lies outside of the file"
            text = name.rstrip(b"\0").decode("ascii", "replace")
            self.sections.append(Section(text, start, size))
        self.signatures_at, self.signatures_size = struct.unpack_from(
            "<II", data, self.directory_at
        )
        if self.signatures_size:
            assert self.signatures_at + self.signatures_size == len(data), (
                "the signatures are not the end of the file"
            )

    def section(self, name: str) -> Section:
        """The section of this name, of which there has to be one."""
        found = [section for section in self.sections if section.name == name]
        names = [section.name for section in self.sections]
        assert len(found) == 1, f"[R2] wants one section {name}: there are {names}"
        assert found[0].size > 0, f"[R2] wants {name} in its section, which is empty"
        return found[0]

    def content(self, name: str) -> bytes:
        """The bytes of a section."""
        section = self.section(name)
        return self.data[section.start : section.start + section.size]

    def patched(self, at: int, new: bytes) -> Program:
        """The same program with other bytes at `at`."""
        return Program(self.data[:at] + new + self.data[at + len(new) :])

    def unsigned(self) -> Program:
        """The same program without signatures."""
        end = self.signatures_at if self.signatures_size else len(self.data)
        data = bytearray(self.data[:end])
        data += bytes(-len(data) % 8)
        data[self.directory_at : self.directory_at + 8] = bytes(8)
        return Program(bytes(data))

    def digest(self) -> bytes:
        """The SHA-256 that a signature covers: all but checksum, directory entry, signatures."""
        end = self.signatures_at if self.signatures_size else len(self.data)
        covered = hashlib.sha256(self.data[: self.checksum_at])
        covered.update(self.data[self.checksum_at + 4 : self.directory_at])
        covered.update(self.data[self.directory_at + 8 : end])
        return covered.digest()

    def signed(self, key: Key) -> bytes:
        """The file with one signature, by `key`, in place of those it has."""
        bare = self.unsigned()
        signature = attribute_pkcs7(bare.digest(), key)
        # WIN_CERTIFICATE: length, revision 2.0, PKCS #7; the length without the padding.
        entry = struct.pack("<IHH", 8 + len(signature), 0x0200, 0x0002) + signature
        entry += bytes(-len(entry) % 8)
        data = bytearray(bare.data)
        struct.pack_into("<II", data, bare.directory_at, len(data), len(entry))
        return bytes(data) + entry

"""The delivered source: that it is text which somebody wrote, and not another file system's."""

from __future__ import annotations

import os
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from image.known_sources import fingerprints

MOST_BYTES, MOST_FILES = 2 << 20, 2000
STRETCH = 4096
#: [R2] What a stretch may have left when it is compressed. Measured: C, assembler and tables of
#: other projects have 10 to 40 %, base64 of compressed data 76 %, its hexadecimal digits 57 %.
MOST_LEFT = 0.55
#: [R2] How much of a stretch may be numbers and what stands between them, and how many bytes of all
#: such stretches may have.
MOST_NUMBERS, MOST_TABLES = 0.6, 128 << 10
NUMBERS = re.compile(rb"0[xX][0-9a-fA-F]+|[0-9]+|[\\,\s]+")
#: [R3] How much of a source's fingerprints may be known. Measured: see docs/families/own.md.
MOST_KNOWN = 0.12
LEAST_TO_JUDGE = 40  # fingerprints of a file below which it says nothing by itself
MOST_KNOWN_OF_A_FILE = 0.5
WRITTEN = (".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".hh", ".inc", ".rs", ".zig", ".d")


@dataclass(frozen=True)
class Source:
    """The files of a delivered folder, relative path to content."""

    files: dict[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> Source:
        """What is in a folder that `boot` has validated. AssertionError beyond the limits."""
        found: dict[str, bytes] = {}
        total = 0
        for place, names, files in os.walk(folder):
            linked = [name for name in names if (Path(place) / name).is_symlink()]
            assert not linked, f"[R2] no links: {linked[0]}"
            for name in files:
                path = Path(place) / name
                where = path.relative_to(folder).as_posix()
                assert not path.is_symlink(), f"[R2] no links: {where}"
                total += path.stat().st_size
                assert total <= MOST_BYTES, f"[R2] at most {MOST_BYTES} bytes in all"
                found[where] = path.read_bytes()
                assert len(found) <= MOST_FILES, f"[R2] at most {MOST_FILES} files"
        return cls(found)

    def no_text(self) -> list[str]:
        """Files that are no text."""
        return [
            name
            for name, data in self.files.items()
            if b"\0" in data or not _decodes(data) or not name.isascii()
        ]

    def packed(self) -> list[str]:
        """Stretches of files that hardly compress: what was compressed or encrypted before."""
        found = []
        for name, data in self.files.items():
            for at in range(0, max(1, len(data) - STRETCH // 2), STRETCH // 2):
                piece = data[at : at + STRETCH]
                if len(piece) < STRETCH // 2:
                    continue
                left = len(zlib.compress(piece, 9)) / len(piece)
                if left > MOST_LEFT:
                    found.append(f"{name} at {at}: {left:.0%}")
        return found

    def tables(self) -> int:
        """Bytes in stretches that are mostly numbers."""
        total = 0
        for data in self.files.values():
            for at in range(0, len(data), STRETCH):
                piece = data[at : at + STRETCH]
                numbers = sum(len(found) for found in NUMBERS.findall(piece))
                total += len(piece) if numbers > MOST_NUMBERS * len(piece) else 0
        return total

    def known(self, table: Path) -> tuple[float, list[str]]:
        """The known part of all fingerprints, and the files of which most are known."""
        data = table.read_bytes()
        known = set(struct.unpack(f"<{len(data) // 4}I", data))
        ours: set[int] = set()
        whole = []
        for name, content in self.files.items():
            if not name.lower().endswith(WRITTEN):
                continue
            found = fingerprints(content.decode("utf-8", "replace"))
            ours |= found
            share = len(found & known) / max(1, len(found))
            if len(found) >= LEAST_TO_JUDGE and share > MOST_KNOWN_OF_A_FILE:
                whole.append(f"{name}: {share:.0%} of {len(found)}")
        return len(ours & known) / max(1, len(ours)), whole


def _decodes(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not any(ord(c) < 32 and c not in "\t\n\r\f" for c in text)

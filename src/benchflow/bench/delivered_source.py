"""A delivered source: that it is text which somebody wrote, and not a copy of a known one.

`Source.of(folder)` reads it within bounds; `no_text`, `packed` and `tables` say what is no text,
what was packed or encoded before, and how much of it is numbers; `known` compares it with a table
of fingerprints (`source_fingerprints`) that the verifier's image has. What is allowed is the
order's to say; the numbers here are those that were measured.
"""

from __future__ import annotations

import os
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.bench.source_fingerprints import fingerprints

MOST_BYTES, MOST_FILES = 2 << 20, 2000
STRETCH = 4096
#: What a stretch may have left when it is compressed. Measured: C, assembler, prose and tables of
#: other projects have 10 to 53 %, base64 of compressed data 76 %, its hexadecimal digits 57 %.
MOST_LEFT = 0.55
#: How much of a stretch may be numbers and what stands between them, and how many bytes of all
#: such stretches may have.
MOST_NUMBERS, MOST_TABLES = 0.6, 128 << 10
NUMBERS = re.compile(rb"0[xX][0-9a-fA-F]+|[0-9]+|[\\,\s]+")
#: How much of a source's fingerprints may be known. Measured: see docs/families/own.md.
MOST_KNOWN = 0.12
LEAST_TO_JUDGE = 40  # fingerprints of a file below which it says nothing by itself
MOST_KNOWN_OF_A_FILE = 0.5
WRITTEN = (".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".hh", ".inc", ".rs", ".zig", ".d")


@dataclass(frozen=True)
class Source:
    """The files of a delivered folder, relative path to content."""

    files: dict[str, bytes]

    @classmethod
    def of(
        cls, folder: Path, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES
    ) -> Source:
        """What is in a folder that `boot` has validated. AssertionError beyond the limits."""
        found: dict[str, bytes] = {}
        total = 0
        for place, names, files in os.walk(folder, onerror=_unread):
            linked = [name for name in names if (Path(place) / name).is_symlink()]
            assert not linked, f"[R2] no links: {linked[0]}"
            for name in files:
                path = Path(place) / name
                where = path.relative_to(folder).as_posix()
                assert not path.is_symlink(), f"[R2] no links: {where}"
                total += path.stat().st_size
                assert total <= most_bytes, f"[R2] at most {most_bytes} bytes in all"
                found[where] = path.read_bytes()
                assert len(found) <= most_files, f"[R2] at most {most_files} files"
        return cls(found)

    def no_text(self) -> list[str]:
        """Files that are no text."""
        return [
            name for name, data in self.files.items() if not name.isascii() or not _is_text(data)
        ]

    def packed(self) -> list[str]:
        """Stretches that hardly compress: what was compressed or encrypted before."""
        found = []
        for name, data in self._whole():
            last = len(data) - STRETCH
            for at in sorted({*range(0, last, STRETCH // 2), last}):
                left = len(zlib.compress(data[at : at + STRETCH], 9)) / STRETCH
                if left > MOST_LEFT:
                    found.append(f"{name} at {at}: {left:.0%}")
        return found

    def tables(self) -> int:
        """Bytes in stretches that are mostly numbers."""
        total = 0
        for _, data in self._whole():
            for at in range(0, len(data), STRETCH):
                piece = data[at : at + STRETCH]
                numbers = sum(len(found) for found in NUMBERS.findall(piece))
                total += len(piece) if numbers > MOST_NUMBERS * len(piece) else 0
        return total

    def _whole(self) -> Iterator[tuple[str, bytes]]:
        """What has a whole stretch: shorter files stand one behind the other, by their names."""
        short = [name for name, data in self.files.items() if len(data) < STRETCH]
        joined = b"".join(self.files[name] for name in sorted(short))
        for name, data in (*self.files.items(), ("its short files", joined)):
            if len(data) >= STRETCH:
                yield name, data

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


def _unread(error: OSError) -> None:
    raise AssertionError(f"[R2] a folder cannot be read: {error.strerror}") from None


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not any(unicodedata.category(c) == "Cc" and c not in "\t\n\r\f" for c in text)

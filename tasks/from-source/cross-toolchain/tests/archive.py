"""The delivered archive as it lies."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import elves

from benchflow.boot import BadDeliverable, Tar
from benchflow.boot.inspect.archive import is_compressed

TOP = "/fx31"
COMPILER = "GCC: (Ferrum FX-31) 12.2.0"
FILE_MAX = 96 << 20
_LIMIT = 192 << 20
_FOUND_MAX = 64


@dataclass(frozen=True)
class Part:
    """A compiled file, or a member of a library: what it is, and the places that it names."""

    path: str
    facts: elves.Facts
    places: tuple[str, ...]


class Toolchain:
    """`tree` is read once for every question."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            if is_compressed(file.read(16)):
                raise BadDeliverable("toolchain.tar is compressed: not compressed, it says")
        self.tree = Tar(path, limit=_LIMIT)
        self.entries = [entry for entry in self.tree.walk("/") if entry.path != "/"]

    def faults(self) -> list[str]:
        """What R1 does not allow."""
        found = []
        for entry in self.entries:
            path = entry.path
            if path != TOP and not path.startswith(f"{TOP}/"):
                found.append(f"{path} is not in fx31")
            if entry.kind not in ("file", "directory", "symlink"):
                found.append(f"{path} is a {entry.kind}")
            if (entry.uid, entry.gid) != (0, 0):
                found.append(f"{path} belongs to {entry.uid}:{entry.gid}")
            if entry.kind == "symlink":
                target = self.tree.readlink(path)
                led = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                if target.startswith("/") or not f"{led}/".startswith(f"{TOP}/"):
                    found.append(f"{path} leads to {target[:80]}")
                elif not self.tree.exists(path):
                    found.append(f"{path} leads to nothing")
            elif entry.mode & 0o6022:
                found.append(f"{path} has the mode {entry.mode:o}")
            elif not entry.mode & 0o004 or (entry.kind == "directory" and not entry.mode & 1):
                found.append(f"{path} cannot be read by others (mode {entry.mode:o})")
            if len(found) >= _FOUND_MAX:
                break
        return found

    @cached_property
    def parts(self) -> list[Part]:
        """All that was compiled, members of libraries too."""
        files = (
            (entry.path, self.tree.read(entry.path, FILE_MAX))
            for entry in self.entries
            if entry.kind == "file"
        )
        return list(parts(files))

    def dynamic_programs(self) -> list[str]:
        """Programs for x86-64 that need a loader or a library."""
        return [
            part.path
            for part in self.parts
            if part.facts.machine == elves.X86_64 and (part.facts.interpreter or part.facts.needed)
        ]

    def machines(self) -> Counter[int]:
        """How much there is for which machine."""
        return Counter(part.facts.machine for part in self.parts)


def parts(files: Iterable[tuple[str, bytes]]) -> Iterator[Part]:
    """What is compiled among files."""
    for path, data in files:
        for one in elves.objects(data):
            yield Part(path, elves.read(one), tuple(elves.places(one)[:2]))


def strangers(found: Iterable[Part]) -> list[str]:
    """What for RISC-V names other compilers."""
    return [
        f"{part.path}: {sorted(set(part.facts.comments) - {COMPILER})[0][:80]}"
        for part in found
        if part.facts.machine == elves.RISCV and set(part.facts.comments) - {COMPILER}
    ]


def named(found: Iterable[Part]) -> int:
    """How many files for RISC-V name the compiler."""
    return sum(COMPILER in part.facts.comments for part in found)


def loose(found: Iterable[Part]) -> list[str]:
    """Absolute names of source files in compiled files."""
    return [f"{part.path}: {place[:100]}" for part in found for place in part.places]

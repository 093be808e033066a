"""The delivered archive as it lies."""

from __future__ import annotations

import posixpath
import tarfile
from pathlib import Path

import elves

from benchflow.boot import BadDeliverable, Tar

TOP = "/fx31"
COMPILER = "GCC: (Ferrum FX-31) 12.2.0"
FILE_MAX = 96 << 20
_LIMIT = 192 << 20
_SCRATCH_NAMES = 64


class Toolchain:
    """`tree` is read once for every question."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            if file.read(263)[257:] != b"ustar\0" and not tarfile.is_tarfile(path):
                raise BadDeliverable("toolchain.tar is no tar archive")
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
                if target.startswith("/") or not led.startswith(f"{TOP}/"):
                    found.append(f"{path} leads to {target[:80]}")
                elif not self.tree.exists(path):
                    found.append(f"{path} leads to nothing")
            elif entry.mode & 0o6022:
                found.append(f"{path} has the mode {entry.mode:o}")
            elif not entry.mode & 0o004 or (entry.kind == "directory" and not entry.mode & 1):
                found.append(f"{path} cannot be read by others (mode {entry.mode:o})")
            if len(found) >= _SCRATCH_NAMES:
                break
        return found

    def compiled(self):
        """(path, ELF file) of all that was compiled, members of libraries too."""
        for entry in self.entries:
            if entry.kind == "file":
                data = self.tree.read(entry.path, FILE_MAX)
                for part in elves.objects(data):
                    yield entry.path, part

    def dynamic_programs(self) -> list[str]:
        """Programs for x86-64 that need a loader or a library."""
        found = []
        for path, data in self.compiled():
            facts = elves.read(data)
            if facts.machine == elves.X86_64 and (facts.interpreter or facts.needed):
                found.append(path)
        return found

    def programs(self) -> int:
        return sum(elves.read(data).machine == elves.X86_64 for _, data in self.compiled())

    def faces(self) -> set[int]:
        """The machines for which there is something."""
        return {elves.read(data).machine for _, data in self.compiled()}


def strangers(parts) -> list[str]:
    """What for RISC-V names other compilers, or comes with none at all that is named."""
    found = []
    for path, data in parts:
        facts = elves.read(data)
        if facts.machine == elves.RISCV and set(facts.comments) - {COMPILER}:
            found.append(f"{path}: {sorted(set(facts.comments) - {COMPILER})[0][:80]}")
    return found


def named(parts) -> int:
    """How many files for RISC-V name the compiler."""
    return sum(COMPILER in elves.read(data).comments for _, data in parts)


def loose(parts) -> list[str]:
    """Absolute names of source files in compiled files."""
    found = []
    for path, data in parts:
        found += [f"{path}: {place[:100]}" for place in elves.places(data)[:2]]
        if len(found) >= _SCRATCH_NAMES:
            break
    return found

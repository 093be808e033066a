"""The kernel that comes of the delivered source, and what lies in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchflow.bench import source_builder
from benchflow.boot import Elf

BENCH = source_builder.BENCH
NAME = "kernel.elf"


@dataclass(frozen=True)
class Built:
    """What came of `make`."""

    status: int
    seconds: int
    log: str
    kernel: Path | None


def build(machines, source: Path, work: Path) -> Built:
    """Run `make` in Debian. AssertionError where it does not come to an end in time."""
    made = source_builder.build(machines, source, work, [NAME])
    kernel = None
    if not made.status and NAME in made.files:
        kernel = work / NAME
        kernel.write_bytes(made.files[NAME])
    return Built(made.status, made.seconds, made.log, kernel)


def executable_at(elf: bytes, address: int, count: int) -> bytes | None:
    """`count` bytes at a virtual address of an executable segment; None outside of all."""
    Elf(elf)
    at, entry, number = (
        int.from_bytes(elf[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58))
    )
    for n in range(number):
        part = elf[at + n * entry : at + (n + 1) * entry]
        kind, flags = int.from_bytes(part[:4], "little"), int.from_bytes(part[4:8], "little")
        offset, virtual, _, size = (
            int.from_bytes(part[8 + 8 * i : 16 + 8 * i], "little") for i in range(4)
        )
        if kind == 1 and flags & 1 and virtual <= address < virtual + size:
            start = offset + address - virtual
            return elf[start : start + count]
    return None

"""The machine in which delivered source is built: nothing of it ever runs beside the verifier."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchflow.boot import Disk, Elf, VerifierBroken
from benchflow.boot.machine.disks import run_tool

BENCH = Path("/opt/bench")
SECONDS = 300  # [R1] reference seconds that `make` may take
#: On a busy host the guest's processors also sleep for threads of QEMU that wait for theirs, and
#: such time counts: with ten others at work a build was not done after 330 s that was after 240.
ALLOWED = 2 * SECONDS
#: What ends a build that nobody ends. The guest counts the time in which it had no processor, too.
LAST = 10 * SECONDS
MOST_KERNEL = 16 << 20
AT = 1 << 20  # where the kernel lies on the disk that takes it


@dataclass(frozen=True)
class Built:
    """What came of `make`."""

    status: int
    seconds: int
    log: str
    kernel: Path | None


def build(machines, source: Path, work: Path) -> Built:
    """Boot Debian with the source on a disk, run `make` there, and take kernel.elf off a disk.

    AssertionError where it does not come to an end in time.
    """
    given, taken = work / "source.img", work / "taken.img"
    folder = work / "given"
    folder.mkdir()
    subprocess.run(
        ["cp", "-r", "--no-preserve=all", str(source), str(folder / "source")], check=True
    )
    for path in (folder / "source").rglob("*"):
        path.chmod(0o755)
    run_tool(
        [
            "mke2fs",
            "-q",
            "-t",
            "ext2",
            "-b",
            "1024",
            "-N",
            "8192",
            "-d",
            str(folder),
            str(given),
            "24M",
        ]
    )
    with taken.open("wb") as file:
        file.truncate(AT + MOST_KERNEL)
    for needed in ("vmlinuz", "initrd.gz", "builder.img"):
        if not (BENCH / needed).is_file():
            raise VerifierBroken(f"{BENCH / needed} is not there: image/build.sh makes it")
    machine = machines.create(
        "builder",
        kernel=BENCH / "vmlinuz",
        initrd=BENCH / "initrd.gz",
        memory_mb=1536,
        cpus=2,
        rng=False,
        append=f"console=ttyS0 quiet panic=-1 mitigations=off build_seconds={LAST}",
        disks=[
            Disk(BENCH / "builder.img", read_only=True),
            Disk(given, read_only=True),
            Disk(taken),
        ],
    )
    machine.boot()
    machine.expect(r"building\n", 120)
    deadline = machine.deadline(ALLOWED)
    while machine.alive and deadline.remaining() > 0:
        time.sleep(0.1)
    if machine.alive:
        machine.power_cut()
        raise AssertionError(
            f"[R1] `make` is not done after {ALLOWED} reference seconds, twice the {SECONDS} it has"
        )
    disk = machine.flatten(2)
    with disk.open("rb") as file:
        head = file.read(512).split(b"\n")[0].decode("ascii", "replace")
        log = file.read(AT - 512).rstrip(b"\0").decode("utf-8", "replace")
        told = re.fullmatch(r"status=(\d+) size=(\d+) seconds=(\d+)", head)
        assert told, f"[R1] the build left no word: {head[:80]!r}"
        status, size, seconds = map(int, told.groups())
        kernel = None
        if 0 < size <= MOST_KERNEL:
            file.seek(AT)
            kernel = work / "kernel.elf"
            kernel.write_bytes(file.read(size))
    machine.close()
    disk.unlink(missing_ok=True)
    return Built(status, seconds, log, kernel if not status and 0 < size <= MOST_KERNEL else None)


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

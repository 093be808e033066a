"""The machine in which delivered source is built: nothing of it ever runs beside the verifier."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.boot import Disk, VerifierBroken
from benchflow.boot.machine.disks import run_tool

BENCH = Path("/opt/bench")
SECONDS = 300  # [R1] reference seconds that `make` may take
#: On a busy host the guest's processors also sleep for threads of QEMU that wait for theirs.
ALLOWED = 2 * SECONDS
#: What ends a build that nobody ends. The guest counts the time in which it had no processor, too.
LAST = 10 * SECONDS
MOST = 16 << 20  # of each file
AT = 1 << 20  # where the first file lies on the disk that takes them; the others 16 MiB further
NAMES = ("holm.ko", "mkfs.holm", "fsck.holm")
NEEDED = ("vmlinuz", "initrd.gz", "builder.img", "guest.cpio", "known-sources.bin")


@dataclass(frozen=True)
class Built:
    """What came of `make`."""

    status: int
    seconds: int
    log: str
    files: dict[str, bytes] = field(default_factory=dict)


def build(machines, source: Path, work: Path) -> Built:
    """Boot Debian with the source on a disk, run `make` there, and take the files off a disk.

    AssertionError where it does not come to an end in time.
    """
    for needed in NEEDED:
        if not (BENCH / needed).is_file():
            raise VerifierBroken(f"{BENCH / needed} is not there: image/build.sh makes it")
    given, taken, folder = work / "source.img", work / "taken.img", work / "given"
    folder.mkdir()
    subprocess.run(
        ["cp", "-r", "--no-preserve=all", str(source), str(folder / "source")], check=True
    )
    for path in (folder / "source").rglob("*"):
        path.chmod(0o755)
    options = ["-q", "-t", "ext2", "-b", "1024", "-N", "8192"]
    run_tool(["mke2fs", *options, "-d", str(folder), str(given), "24M"])
    with taken.open("wb") as file:
        file.truncate(AT + len(NAMES) * MOST)
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
    try:
        return read(disk)
    finally:
        machine.close()
        disk.unlink(missing_ok=True)


def read(disk: Path) -> Built:
    """What the builder has left on a disk."""
    with disk.open("rb") as file:
        head = file.read(512).split(b"\n")[0].decode("ascii", "replace")
        log = file.read(AT - 512).rstrip(b"\0").decode("utf-8", "replace")
        told = re.fullmatch(r"status=(\d{1,9}) seconds=(\d{1,9}) sizes=((?:\d{1,18} ?){3})", head)
        assert told, f"[R1] the build left no word: {head[:80]!r}"
        files = {}
        for n, (name, size) in enumerate(zip(NAMES, map(int, told[3].split()), strict=True)):
            if 0 < size <= MOST:
                file.seek(AT + n * MOST)
                files[name] = file.read(size)
    return Built(int(told[1]), int(told[2]), log, files)

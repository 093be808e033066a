"""The machine in which a delivered source is built: nothing of it ever runs beside the verifier.

A Debian in QEMU gets the source on one disk, runs `make` in a copy of it as a user without
privileges, devices or a network, and writes what was asked for to another disk, which is read
without a mount. Its parts are made by the task's `tests/image/build.sh`, with `from-tasks-lib
build-machine.sh`.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.boot import BadDeliverable, Disk, VerifierBroken
from benchflow.boot.errors import NoSpace, ToolMissing
from benchflow.boot.machine.disks import run_tool
from benchflow.boot.runner.fixtures import Machines

BENCH = Path("/opt/bench")
SECONDS = 300  # reference seconds that `make` may take
#: On a busy host the guest's processors also sleep for threads of QEMU that wait for theirs, and
#: such time counts: with ten others at work a build was not done after 330 s that was after 240.
ALLOWED = 2 * SECONDS
#: What ends a build that nobody ends. The guest counts the time in which it had no processor, too.
LAST = 10 * SECONDS
MOST = 16 << 20  # of each file
AT = 1 << 20  # where the first file lies on the disk that takes them; the others MOST further
NEEDED = ("vmlinuz", "initrd.gz", "builder.img")


@dataclass(frozen=True)
class Built:
    """What came of `make`: of the files that were asked for those that are there, and fit."""

    status: int
    seconds: int
    log: str
    files: dict[str, bytes] = field(default_factory=dict)


def build(machines: Machines, source: Path, work: Path, names: Sequence[str]) -> Built:
    """Build a validated folder without links, and bring these files of its top.

    AssertionError where it does not come to an end in time.
    """
    for needed in NEEDED:
        if not (BENCH / needed).is_file():
            raise VerifierBroken(f"{BENCH / needed} is not there: image/build.sh makes it")
    given, taken = source_disk(source, work), work / "taken.img"
    with taken.open("wb") as file:
        file.truncate(AT + len(names) * MOST)
    machine = machines.create(
        "builder",
        kernel=BENCH / "vmlinuz",
        initrd=BENCH / "initrd.gz",
        memory_mb=1536,
        cpus=2,
        rng=False,
        append="console=ttyS0 quiet panic=-1 mitigations=off"
        f" build_seconds={LAST} build_takes={','.join(names)}",
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
        return read(disk, names)
    finally:
        machine.close()
        disk.unlink(missing_ok=True)


def source_disk(source: Path, work: Path) -> Path:
    """An ext2 with the folder as `source`, however many folders it has."""
    given, folder = work / "source.img", work / "given"
    folder.mkdir()
    subprocess.run(
        ["cp", "-r", "--no-preserve=all", str(source), str(folder / "source")], check=True
    )
    count = 1
    for place, names, files in os.walk(folder):
        count += len(names) + len(files)
        for name in (*names, *files):
            (Path(place) / name).chmod(0o755)
    options = ["-q", "-t", "ext2", "-b", "1024", "-N", str(count + 1000)]
    try:
        # Each folder has a block, and each file a broken one; inodes take a quarter of that.
        size = (8 << 10) + 4 * count
        run_tool(["mke2fs", *options, "-d", str(folder), str(given), f"{size}k"])
    except (NoSpace, ToolMissing):
        raise
    except VerifierBroken as error:
        raise BadDeliverable(
            "the source cannot be put on a disk", evidence=error.evidence
        ) from None
    return given


def read(disk: Path, names: Sequence[str]) -> Built:
    """What the builder has left on a disk."""
    with disk.open("rb") as file:
        head = file.read(512).split(b"\n")[0].decode("ascii", "replace")
        log = file.read(AT - 512).rstrip(b"\0").decode("utf-8", "replace")
        told = re.fullmatch(r"status=(\d{1,9}) seconds=(\d{1,9}) sizes=([\d ]{1,200})", head)
        sizes = told[3].split() if told else []
        assert told and len(sizes) == len(names), f"[R1] the build left no word: {head[:80]!r}"
        files = {}
        for n, (name, size) in enumerate(zip(names, map(int, sizes), strict=True)):
            if 0 < size <= MOST:
                file.seek(AT + n * MOST)
                files[name] = file.read(size)
    return Built(int(told[1]), int(told[2]), log, files)

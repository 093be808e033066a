"""What is on a disk after its power has failed, and what is not."""

from __future__ import annotations

import re
import time

import draws

from benchflow.boot import Image

FULL = "; ".join(f"dd if=/dev/zero of=/mnt/{name} bs={size} 2>/dev/null"
                 for name, size in (("full", "64k"), ("full2", "1k")))  # fmt: skip


def in_order(disk, part=None) -> str:
    return (disk.ext4(part) if part else disk.ext4()).problems()


def mounted(unit, device: str) -> None:
    status = unit.code(f"grep -q ' /mnt ' /proc/mounts || mount -t ext4 {device} /mnt", 120)
    assert status == 0, f"mount -t ext4 {device}: status {status} [R14]"


def unmounted(unit, why: str) -> None:
    """In order for e2fsck, once that is done."""
    unit.say("umount /mnt && sync", 60)
    unit.off()
    problems = in_order(Image(unit.machine.flatten()))
    assert not problems, f"e2fsck {why}: {problems[:300]} [R15]"


def safe(unit, seed: int, rng) -> None:
    """Records that were called safe, twice, while files without a name are held."""
    unit.up()
    for turn in range(2):
        mounted(unit, "/dev/vda")
        mark, more, had = unit.machine.console.end, rng.randrange(25, 60), 0
        unit.machine.send(f" mkdir /mnt/{turn}; probe records {seed + turn} /mnt/{turn}\n")
        deadline = unit.machine.deadline(120)
        while had < more and deadline.remaining() > 0:
            had = len(re.findall(r"safe \d+\n", unit.machine.console.since(mark)))
            time.sleep(0.02)
        unit.off()
        assert had >= more, f"{had} of {more} records were written [R15]: {unit.end()}"
        mounted(unit.up(), "/dev/vda")
        said = unit.say(f"probe recalled {seed + turn} /mnt/{turn} {had}", 120)
        due = f"recalled {draws.total(draws.first(seed + turn, had))}"
        assert said == due, f"of {had} records: {said[:200]!r} [R15]"
    unmounted(unit, "after it")


def used_again(unit, seed: int) -> None:
    """Blocks of a folder that was removed hold a file, when the power fails: the journal still has
    what they were before."""
    mounted(unit.up(), "/dev/vda")
    name = "n" * 190
    unit.say(f"mkdir /mnt/deep && cd /mnt/deep && for n in $(seq 400); do : >${{n}}{name}; done; "
             "cd /; probe safe /mnt/deep", 120)  # fmt: skip
    unit.code(f"{FULL}; probe safe /mnt/full /mnt/full2", 120)
    unit.say("rm -r /mnt/deep && probe safe /mnt", 60)
    said = unit.say(f"probe fills {seed} /mnt/filled", 60).split()
    assert said[:1] == ["filled"] and int(said[1]) >= 20, f"{said}: a folder's blocks [R14]"
    unit.off()
    mounted(unit.up(), "/dev/vda")
    told = unit.say(f"probe filled {seed} /mnt/filled {said[1]}", 60)
    assert told.split() == said, f"of {said[1]} KiB that were safe: {told[:200]!r} [R15]"
    unmounted(unit, "after what was removed")

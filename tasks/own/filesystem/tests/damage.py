"""Bytes of the disk change by themselves: what programs then find, and what fsck.holm repairs."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

from bench import BRIEF, Guest
from cuts import bytes_of

DISK = "/dev/vdb"
BLOCK = 4096


@dataclass(frozen=True)
class Filled:
    """A file system whose content is known, unmounted."""

    listing: dict[str, str]
    data: list[int]
    """Blocks of the device that hold what a file holds."""
    rest: list[int]
    """Other blocks that hold anything."""


def fill(guest: Guest, rng: random.Random, device: str = DISK) -> Filled:
    """Drawn files and folders on a new file system."""
    lines, sums = [], set()
    for d in range(5):
        lines.append(f"mkdir d{d}")
        for f in range(rng.randint(4, 9)):
            count, seed = rng.randint(1, 40000), rng.getrandbits(60)
            lines += [f"create d{d}/f{f}", f"write d{d}/f{f} 0 {count} {seed}"]
            content = bytes_of(seed, count)
            for at in range(0, count, BLOCK):
                sums.add(content[at : at + BLOCK].ljust(BLOCK, b"\0"))
        lines.append(f"symlink {'t' * rng.randint(1, 300)} d{d}/link")
        lines.append(f"link d{d}/f0 d{d}/other")
    for n in range(150):
        lines.append(f"symlink {n} d{n % 5}/name{n}{'x' * rng.randint(0, 100)}")
    lines.append("sync")
    # What earlier checks have left on the device would be taken for what it holds.
    guest.run("cd /; umount /mnt 2> /dev/null", BRIEF)
    guest.run(f"dd if=/dev/zero of={device} bs=1M 2> /dev/null; sync")
    guest.fresh(device)
    guest.machine.shell.write_file("/tmp/script", ("\n".join(lines) + "\n").encode())
    said = guest.ok("tools follow /mnt /tmp/script < /dev/null", "[R8] files are made")
    assert "<followed>" in said, f"[R8] files are made: {said[-200:]!r}"
    guest.leave()
    guest.mount(device)
    listing = guest.listing("[R26]")
    guest.leave()
    told = guest.ok(f"tools used {device}", "the device")
    known = {zlib.crc32(block) for block in sums}
    data, rest = [], []
    for word in told.split("<told>")[0].split():
        number, _, digest = word.partition(":")
        (data if int(digest, 16) in known else rest).append(int(number))
    return Filled(listing, data, rest)


def keep(guest: Guest) -> None:
    """The disk as it is, to be restored."""
    guest.ok(f"dd if={DISK} of=/tmp/good bs=1M 2> /dev/null", "the device")


def restore(guest: Guest) -> None:
    guest.ok(f"dd if=/tmp/good of={DISK} bs=1M 2> /dev/null && sync", "the device")


def spoil(guest: Guest, seed: int, first: int, count: int = 1) -> None:
    said = guest.ok(f"tools spoil {DISK} {seed} {first} {count}", "the device")
    assert "<spoilt>" in said, said[-200:]


def differences(before: dict[str, str], now: dict[str, str]) -> tuple[list[str], int]:
    """What is wrong, and how many blocks of content cannot be read."""
    wrong, lost = [], set()
    for path in before.keys() | now.keys():
        if before.get(path) == now.get(path):
            continue
        if path not in before or path not in now:
            wrong.append(f"{path} is {'not ' if path in before else ''}there")
            continue
        old, new = before[path].split(" "), now[path].split(" ")
        if old[0] != "f" or new[0] != "f" or old[:7] != new[:7]:
            wrong.append(f"{path} has other attributes: {now[path][:80]}")
            continue
        told = new[7].rstrip(",").split(",")
        for n, (one, other) in enumerate(zip(old[7].rstrip(",").split(","), told, strict=False)):
            if other in ("!5", "!117"):
                lost.add((old[7], n))  # once, however many names the file has
            elif one != other:
                wrong.append(f"{path} has another block {n}")
    return wrong, len(lost)


def each_block(guest: Guest, made: Filled, blocks: list[int], rng: random.Random, why: str) -> int:
    """One after the other is spoilt, looked at, and set right. How many were seen as lost."""
    seen = 0
    keep(guest)
    for block in blocks:
        seed = rng.getrandbits(60)
        spoil(guest, seed, block)
        guest.mount(DISK, why=f"{why} block {block} is spoilt: mount")
        now = guest.listing(f"{why} block {block} is spoilt")
        guest.leave()
        wrong, lost = differences(made.listing, now)
        assert not wrong, f"{why} block {block} is spoilt: {'; '.join(wrong[:4])}"
        assert lost <= 1, f"{why} block {block} is spoilt, {lost} blocks of files cannot be read"
        seen += lost
        restore(guest)
    return seen

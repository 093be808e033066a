"""Disks of a run: partition tables that were drawn, and an ext4 with files in it."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from pathlib import Path

import draws

from benchflow.boot import VerifierBroken
from benchflow.boot.inspect.bounded_run import run_tool

SECTOR = 512
MIB = 1 << 20


@dataclass
class Drawn:
    """`parts`: device's name behind the disk's, its first sector and its sectors."""

    path: Path
    parts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def put(self, rng: random.Random, part: str, sectors: int = 8) -> tuple[int, str]:
        """Drawn bytes at a drawn place of a partition: that place, and their MD5."""
        first, many = self.parts[part]
        at, data = rng.randrange(many - sectors), rng.randbytes(sectors * SECTOR)
        with self.path.open("r+b") as disk:
            disk.seek((first + at) * SECTOR)
            disk.write(data)
        return at, hashlib.md5(data).hexdigest()


def tool(*command: str | Path, given: str = "") -> None:
    """One of ours on a file of ours. What fails is the verifier's own fault."""
    done = run_tool([str(word) for word in command], stdin=given.encode())
    if done.status:
        raise VerifierBroken(f"{command[0]} failed", evidence=done.complaint)


def ext4(path: Path, megabytes: int, tree: Path | None = None) -> Path:
    """As mkfs.ext4 of Debian 12 makes it."""
    with path.open("wb") as image:
        image.truncate(megabytes * MIB)
    more = ["-d", str(tree)] if tree else []
    tool("mkfs.ext4", "-q", *more, path)
    return path


def gpt(path: Path, rng: random.Random, system: Path) -> Drawn:
    """Three partitions with gaps; the second is `system`."""
    drawn, at, lines = Drawn(path), 2048 + 8 * rng.randrange(200), ["label: gpt"]
    for number, size in enumerate((4 * MIB, system.stat().st_size, 3 * MIB), 1):
        sectors = size // SECTOR + (8 * rng.randrange(100) if number != 2 else 0)
        drawn.parts[str(number)] = (at, sectors)
        lines.append(f"start={at}, size={sectors}, name={draws.word(rng)}")
        at += sectors + 8 * rng.randrange(1, 300)
    write_table(path, at + 4096, lines)
    with path.open("r+b") as disk:
        disk.seek(drawn.parts["2"][0] * SECTOR)
        disk.write(system.read_bytes())
    return drawn


def mbr(path: Path, rng: random.Random) -> Drawn:
    """Two primary partitions, and two logical ones in an extended one."""
    drawn, at, lines = Drawn(path), 63 + rng.randrange(3000), ["label: dos", "unit: sectors"]
    for number in ("1", "2"):
        sectors = 6000 + rng.randrange(4000)
        drawn.parts[number] = (at, sectors)
        lines.append(f"start={at}, size={sectors}, type=83")
        at += sectors + rng.randrange(1, 2000)
    lines.append(f"start={at}, size=30000, type={rng.choice(('5', 'f'))}")
    for number in ("5", "6"):
        at += 2048 + rng.randrange(1000)
        sectors = 5000 + rng.randrange(4000)
        drawn.parts[number] = (at, sectors)
        lines.append(f"start={at}, size={sectors}, type=83")
        at += sectors
    write_table(path, at + 40_000, lines)
    return drawn


def write_table(path: Path, sectors: int, lines: list[str]) -> None:
    with path.open("wb") as image:
        image.truncate(sectors * SECTOR)
    tool("sfdisk", "-q", path, given="\n".join(lines) + "\n")


def files(root: Path, rng: random.Random) -> dict[str, str]:
    """Files with strange names below `root`; their MD5 by their path."""
    made = {}
    folder = root
    for size in (0, 1, 4096, rng.randrange(5000, 90_000), rng.randrange(1 << 20, 3 << 20)):
        folder = folder / draws.strange_name(rng)
        folder.mkdir(parents=True)
        path = folder / draws.strange_name(rng)
        data = rng.randbytes(size)
        path.write_bytes(data)
        made[str(path.relative_to(root))] = hashlib.md5(data).hexdigest()
    holes = folder / draws.word(rng)
    with holes.open("wb") as file:
        file.seek(rng.randrange(1 << 20, 20 << 20))
        file.write(rng.randbytes(100))
    made[str(holes.relative_to(root))] = hashlib.md5(holes.read_bytes()).hexdigest()
    (folder / "link").symlink_to(holes.name)
    made[str((folder / "link").relative_to(root))] = made[str(holes.relative_to(root))]
    return made

"""A meter's disk as a file: its partitions, its program, and copies on which somebody worked."""

from __future__ import annotations

import itertools
import re
import secrets
import shutil
import subprocess
from pathlib import Path

from pe import Program
from verity import BLOCK, Superblock, Tree, tree_of

from benchflow.boot import BadDeliverable, Image

NAMES = ("esp", "root", "root-verity", "data")
EFI = "/EFI/BOOT/BOOTX64.EFI"
_NUMBER = re.compile(rb"(?=([0-9A-Fa-f]{64})(?![0-9A-Fa-f]))")


class Layout:
    """What is on a delivered disk. AssertionError where it is not what the order asks for."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.places: dict[str, tuple[int, int]] = {}
        partitions = image.partitions()
        assert sorted(part.name for part in partitions) == sorted(NAMES), (
            f"[R1] wants the four partitions {NAMES}: {[part.name for part in partitions]}"
        )
        for part in partitions:
            assert part.table == "gpt", f"[R1] wants a GPT: the table is {part.table}"
            assert part.start + part.size <= image.size, f"{part.name} lies outside of the disk"
            self.places[part.name] = (part.start, part.size)
        spans = sorted(self.places.values())
        assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(spans)), "overlap"
        self.esp = image.fat(next(part for part in partitions if part.name == "esp"))
        self.program = Program(self.esp.read(EFI))

    def read(self, name: str, disk: Path | None = None) -> bytes:
        """The bytes of a partition, of the delivered disk or of a copy."""
        start, size = self.places[name]
        with (disk or self.image.path).open("rb") as stream:
            stream.seek(start)
            return stream.read(size)

    @property
    def command_line(self) -> str:
        return self.program.content(".cmdline").rstrip(b"\0\n").decode("ascii", "replace")

    @property
    def root_hash(self) -> str:
        """The one `roothash=` of the command line."""
        found = [word[9:] for word in self.command_line.split() if word.startswith("roothash=")]
        assert len(found) == 1 and len(found[0]) == 64, (
            f"[R4] wants roothash= and 64 hexadecimal digits once in .cmdline: {found}"
        )
        return found[0]

    @property
    def superblock(self) -> Superblock:
        return Superblock.of(self.read("root-verity"))

    def has_number(self, number: bytes | None = None) -> bool:
        """Whether `number`, or any number that could be /etc/build's, is on `root` exactly once."""
        root = self.read("root")
        found = {one[1] for one in _NUMBER.finditer(root)} if number is None else {number}
        return any(len(each) == 64 and root.count(each) == 1 for each in found)

    def place_of(self, number: bytes) -> int:
        """Where on `root` this number lies. AssertionError unless it is there once."""
        root = self.read("root")
        times = root.count(number) if len(number) == 64 else 0
        assert times == 1, (
            f"[R5] wants /etc/build's 64 digits once on root: {number!r}, {times} times"
        )
        return root.index(number)

    def number_in_ext(self) -> bytes | None:
        """The line of /etc/build, where `root` is a file system that is read here (ext2 to 4)."""
        part = next(part for part in self.image.partitions() if part.name == "root")
        if self.image.filesystem(part) != "ext4":
            return None
        return self.image.ext4(part).read("/etc/build", 100).rstrip(b"\n")

    def same_but_data(self, disk: Path, before: Path | None = None) -> bool:
        """Whether a copy is, outside of `data`, what it was: the delivered disk, or `before`."""
        start, size = self.places["data"]
        one, two = (memoryview(each.read_bytes()) for each in (before or self.image.path, disk))
        return one[:start] == two[:start] and one[start + size :] == two[start + size :]


def without_programs(root: bytes) -> bytes:
    """`root` with no program in it that starts; noise where its files are packed."""
    hollow = root.replace(b"\x7fELF", b"\x7fNOT")
    return hollow if hollow != root else secrets.token_bytes(len(root))


class Copy:
    """A copy of a meter's disk on which somebody works."""

    def __init__(self, layout: Layout, path: Path, source: Path | None = None) -> None:
        self.layout = layout
        self.path = path
        shutil.copyfile(source or layout.image.path, path)

    def write(self, name: str, offset: int, data: bytes) -> Copy:
        start, size = self.layout.places[name]
        assert offset + len(data) <= size, f"{name} has no room for that"
        with self.path.open("r+b") as stream:
            stream.seek(start + offset)
            stream.write(data)
        return self

    def flip(self, name: str, offset: int) -> Copy:
        """Change one byte of a partition."""
        byte = self.layout.read(name, self.path)[offset]
        return self.write(name, offset, bytes([byte ^ (1 + secrets.randbelow(255))]))

    def add(self, where: str, data: bytes) -> Copy:
        """Put a file on the ESP, over one that is there; its folders are made."""
        drive = f"{self.path}@@{self.layout.places['esp'][0]}"
        parts = where.strip("/").split("/")
        for depth in range(1, len(parts)):
            self._mtools("mmd", drive, "-D", "s", "::/" + "/".join(parts[:depth]))
        source = self.path.with_suffix(".file")
        source.write_bytes(data)
        done = self._mtools("mcopy", drive, "-D", "o", "-o", str(source), f"::{where}")
        source.unlink()
        if done.returncode:
            raise BadDeliverable(f"{where} cannot be written to the ESP: {done.stderr[-200:]!r}")
        return self

    def _mtools(self, tool: str, drive: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        environment = {"PATH": "/usr/bin:/bin", "MTOOLS_SKIP_CHECK": "1", "MTOOLSRC": "/dev/null"}
        command = [tool, "-i", drive, *words]
        return subprocess.run(command, capture_output=True, env=environment, check=False,
                              timeout=60, stdin=subprocess.DEVNULL)  # fmt: skip

    def tree(self) -> Tree:
        """The tree that fits `root` as it is here."""
        return tree_of(self.layout.read("root", self.path), self.layout.superblock)

    def rebuild(self, place: int, content: bytes) -> Tree:
        """Write another number into /etc/build (or whatever, anywhere on root), and the tree that
        fits; returns the tree."""
        tree = self.write("root", place, content).tree()
        self.write("root-verity", BLOCK, tree.blocks)
        return tree

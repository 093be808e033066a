"""The delivered medium, read as it lies there: nothing is extracted, nothing is run."""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchflow.boot import BadDeliverable, Initramfs

SUMS = "/sha256sum.txt"
SYSTEM = "/live/filesystem.squashfs"
BLOCK = 2048
OUTPUT_MAX = 8 << 20
INITRD_MAX = 128 << 20
_LINE = re.compile(r"([0-9a-f]{64}) [ *]\.(/[^\n\0]+)")
_EXTENT = re.compile(
    r"File data lba:\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*('.*')\s*\Z"
)


_CATALOG = re.compile(r"e[-rwxsStT]{9}[ +].*?\d ('.*')\Z")


@dataclass(frozen=True)
class Extent:
    """Where a piece of a file lies, in bytes."""

    start: int
    size: int


class Medium:
    """`path` is the ISO. Raises BadDeliverable for what cannot be read as one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.files: dict[str, list[Extent]] = {}
        #: The boot catalog, a regular file to whoever mounts the medium, and none to xorriso.
        self.catalog = ""
        for line in self._xorriso().splitlines():
            if row := _CATALOG.match(line):
                self.catalog = self._named(row[1])
                start = self._catalog_block() * BLOCK
                if start + BLOCK > self.size:
                    raise BadDeliverable("the boot catalog lies beyond the end of the ISO")
                self.files[self.catalog] = [Extent(start, BLOCK)]
            if not line.startswith("File data lba:"):
                continue
            found = _EXTENT.match(line)
            if found is None:
                raise BadDeliverable(f"the ISO holds a strange name: {line[:120]!r}")
            name = self._named(found[5])
            start, blocks, size = int(found[2]), int(found[3]), int(found[4])
            pieces = self.files.setdefault(name, [])
            size = min(size - sum(piece.size for piece in pieces), blocks * BLOCK)
            if size < 0 or start * BLOCK + size > self.size:
                raise BadDeliverable(f"{name[:80]!r} lies beyond the end of the ISO")
            pieces.append(Extent(start * BLOCK, size))

    @staticmethod
    def _named(quoted: str) -> str:
        try:
            names = shlex.split(quoted)
        except ValueError:
            names = []
        if len(names) != 1:
            raise BadDeliverable(f"the ISO holds a strange name: {quoted[:120]!r}")
        return names[0]

    def _catalog_block(self) -> int:
        """Where the boot record says that the catalog is (El Torito, 2.0)."""
        with self.path.open("rb") as file:
            file.seek(17 * BLOCK)
            record = file.read(BLOCK)
        if record[1:6] != b"CD001" or not record[7:].startswith(b"EL TORITO SPECIFICATION"):
            raise BadDeliverable("a boot catalog without a boot record")
        return int.from_bytes(record[0x47:0x4B], "little")

    def volume(self) -> str:
        """The volume's name (ECMA-119, the primary volume descriptor)."""
        with self.path.open("rb") as file:
            file.seek(16 * BLOCK)
            head = file.read(72)
        return head[40:72].decode("ascii", "replace").strip() if head[1:6] == b"CD001" else ""

    def sum_of(self, name: str) -> str:
        """SHA-256 of a file."""
        total = hashlib.sha256()
        with self.path.open("rb") as file:
            for piece in self.files[name]:
                file.seek(piece.start)
                left = piece.size
                while left > 0:
                    chunk = file.read(min(4 << 20, left))
                    assert chunk, f"{name} ends too early"
                    total.update(chunk)
                    left -= len(chunk)
        return total.hexdigest()

    def listed(self) -> list[tuple[str, str]]:
        """Name and sum of each line of the list, as they stand there."""
        assert SUMS in self.files, f"there is no {SUMS}"
        assert sum(piece.size for piece in self.files[SUMS]) <= 4 << 20, f"{SUMS} is too large"
        lines = self._bytes(self.files[SUMS]).decode("utf-8", "replace").splitlines()
        found = [_LINE.fullmatch(line) for line in lines]
        wrong = [line for line, match in zip(lines, found, strict=True) if match is None]
        assert not wrong, f"not as sha256sum writes it: {wrong[0][:120]!r}"
        return [(match[2], match[1]) for match in found if match]

    def system(self) -> list[Extent]:
        """Where the system file lies."""
        assert SYSTEM in self.files, f"there is no {SYSTEM}"
        return self.files[SYSTEM]

    def holds(self, word: bytes) -> bool:
        """Whether these bytes stand anywhere on the medium, as they are."""
        with self.path.open("rb") as file:
            tail = b""
            while chunk := file.read(4 << 20):
                if word in tail + chunk:
                    return True
                tail = chunk[-len(word) :]
        return False

    def holds_packed(self, word: bytes) -> list[str]:
        """The initial RAM disks on the medium in which a file has these bytes."""
        found = []
        for name, pieces in self.files.items():
            if name == SYSTEM or sum(piece.size for piece in pieces) > INITRD_MAX:
                continue
            try:
                inside = Initramfs(self._bytes(pieces)).contents("/")
                if any(word in content for _, content in inside):
                    found.append(name)
            except BadDeliverable:  # it is something else
                continue
        return found

    def _bytes(self, pieces: list[Extent]) -> bytes:
        data = b""
        with self.path.open("rb") as file:
            for piece in pieces:
                file.seek(piece.start)
                data += file.read(piece.size)
        return data

    def _xorriso(self) -> str:
        command = ["xorriso", "-no_rc", "-report_about", "SORRY", "-indev", f"stdio:{self.path}",
                   "-find", "/", "-type", "f", "-exec", "report_lba", "--",
                   "-find", "/", "-exec", "lsdl", "--"]  # fmt: skip
        if self.volume() == "":
            raise BadDeliverable("not an ISO 9660 image")
        with subprocess.Popen(
            ["prlimit", "--cpu=120", f"--as={2 << 30}", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            assert child.stdout
            data = child.stdout.read(OUTPUT_MAX + 1)
            if len(data) > OUTPUT_MAX:
                child.kill()
                raise BadDeliverable("the ISO holds too many files")
        if child.returncode:
            raise BadDeliverable("the ISO cannot be read")
        return data.decode(errors="surrogateescape")


def flipped(medium: Medium, target: Path, offset: int) -> Path:
    """A copy of the medium with one bit changed, `offset` bytes into the system file."""
    subprocess.run(["cp", "--reflink=auto", "--sparse=always", str(medium.path), str(target)],
                   check=True, timeout=300)  # fmt: skip
    for piece in medium.system():
        if offset < piece.size:
            with target.open("r+b") as file:
                file.seek(piece.start + offset)
                byte = file.read(1)
                file.seek(piece.start + offset)
                file.write(bytes([byte[0] ^ 0x10]))
            return target
        offset -= piece.size
    raise BadDeliverable("the system file is shorter than it says")

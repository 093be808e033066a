"""Change files inside an ext2, ext3 or ext4 that lies anywhere in an image, without mounting it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchflow.boot import BadDeliverable
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4


class Ext4Editor:
    """Changes files in copies of one image, links in the way taken into account.

    `image` is looked at once for all copies, so each copy has to have its folders where `image` has
    them. `offset`: where the file system begins, in both. `scratch`: a folder of ours.
    """

    def __init__(self, image: Path, offset: int, scratch: Path) -> None:
        self._offset = offset
        self._scratch = scratch
        self._files = Ext4(image, offset, scratch=scratch)
        self._places: dict[str, tuple[str, bool]] = {}

    def _place(self, path: str) -> tuple[str, bool]:
        """Where `path` really lies, a link there not followed, and whether there is anything."""
        if path not in self._places:
            parent, _, name = path.rpartition("/")
            found = self._files.stat(parent)
            real = f"{found.path.rstrip('/')}/{name}"
            if found.kind != "directory" or any(ord(sign) < 33 or sign in "\"'" for sign in real):
                raise BadDeliverable(f"{parent} of the image is no folder that can be used")
            self._places[path] = (real, name in self._files.listdir(parent))
        return self._places[path]

    def edit(self, copy: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
        """Replace or add files, given as path to content and mode, in `copy`; owned by root.

        They are read back, for debugfs ends with 0 whatever happens. Raises BadDeliverable.
        """
        if not files:
            return
        script: list[str] = []
        for number, (path, (content, mode)) in enumerate(files.items()):
            real, exists = self._place(path)
            source, back = self._scratch / f"edit{number}", self._scratch / f"back{number}"
            source.write_bytes(content)
            back.unlink(missing_ok=True)
            script += [f"rm {real}"] if exists else []
            script += [f"write {source} {real}", f"sif {real} mode 0{0o100000 | mode:o}"]
            script += [f"sif {real} uid 0", f"sif {real} gid 0", f"dump {real} {back}"]
        command = ["debugfs", "-w", "-f", "-", f"{copy}?offset={self._offset}"]
        done = run_tool(command, stdin="".join(f"{line}\n" for line in script).encode())
        for number, (path, (content, _)) in enumerate(files.items()):
            back = self._scratch / f"back{number}"
            if not back.is_file() or back.read_bytes() != content:
                raise BadDeliverable(f"{path} cannot be put into the image: {done.complaint}")


@dataclass(frozen=True)
class Superblock:
    """What an ext2, ext3 or ext4 says of itself; times in seconds since 1970.

    `clean`: it was unmounted in order. `to_replay`: its journal holds what is not yet in place.
    """

    uuid: str
    made: int
    checked: int
    clean: bool
    to_replay: bool

    @classmethod
    def of(cls, disk: Path, start: int = 0) -> Superblock:
        """Of the file system at byte `start`. Raises BadDeliverable where there is none."""
        with disk.open("rb") as file:
            file.seek(start + 1024)
            data = file.read(1024).ljust(1024, b"\0")
        if data[0x38:0x3A] != b"\x53\xef":
            raise BadDeliverable(f"{disk.name}: no ext2, ext3 or ext4 at byte {start}")

        def number(at: int, size: int = 4) -> int:
            return int.from_bytes(data[at : at + size], "little")

        return cls(
            uuid=str(uuid.UUID(bytes=data[0x68:0x78])),
            made=number(0x108),
            checked=number(0x40),
            clean=number(0x3A, 2) == 1,
            to_replay=bool(number(0x60) & 4),
        )


def is_ext4(head: bytes, size: int) -> bool:
    """Whether these 2048 bytes begin an ext4 of this size, by something in it that ext3 lacks."""
    block = head[1024:]
    count, power = (int.from_bytes(block[at : at + 4], "little") for at in (4, 24))
    incompatible, read_only = (int.from_bytes(block[at : at + 4], "little") for at in (96, 100))
    newer = incompatible & ~0x16 or read_only & ~0x7
    return block[56:58] == b"\x53\xef" and count << (10 + power) == size and bool(newer)

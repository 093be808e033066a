"""Look into a delivered image without booting and without mounting it."""

from __future__ import annotations

import os
from pathlib import Path

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.inspect.fat import Fat
from benchflow.boot.inspect.iso import Iso
from benchflow.boot.inspect.partitions import Partition, read_partitions

_MAGICS = (
    (0x438, b"\x53\xef", "ext4"),
    (0x8001, b"CD001", "iso9660"),
    (0, b"hsqs", "squashfs"),
    (0x400, b"\xe2\xe1\xf5\xe0", "erofs"),
    (0, b"XFSB", "xfs"),
    (0x10040, b"_BHRfS_M", "btrfs"),
    (0xFF6, b"SWAPSPACE2", "swap"),
    (0, b"LUKS\xba\xbe", "luks"),
    (0x218, b"LVM2 001", "lvm"),
    (0x52, b"FAT32   ", "fat"),
    (0x36, b"FAT16   ", "fat"),
    (0x36, b"FAT12   ", "fat"),
)


class Image:
    """A raw disk image or an ISO. Everything that is wrong with it raises BadDeliverable."""

    def __init__(self, path: Path, *, scratch: Path | None = None) -> None:
        self.path = path
        self._scratch = scratch
        self.size = path.stat().st_size

    def partitions(self) -> list[Partition]:
        """The partitions by number; empty when there is no table."""
        return read_partitions(self.path)

    def partition(self, number: int) -> Partition:
        """The partition with this number."""
        for partition in self.partitions():
            if partition.number == number:
                return partition
        raise BadDeliverable(f"there is no partition {number}")

    def bytes_at(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes from `offset`."""
        with self.path.open("rb") as stream:
            # Asked first: room for a count that a hostile image names would be a MemoryError.
            if offset + count > stream.seek(0, os.SEEK_END):
                raise BadDeliverable(f"the image ends before byte {offset + count}")
            stream.seek(offset)
            return stream.read(count)

    def boot_sector(self) -> bytes:
        """The first 512 bytes."""
        return self.bytes_at(0, 512)

    def has_boot_signature(self) -> bool:
        """Whether the first sector ends with 55 AA."""
        return self.boot_sector()[510:] == b"\x55\xaa"

    def filesystem(self, partition: Partition | None = None) -> str:
        """`ext4` (also for ext2 and ext3), `fat`, `iso9660`, `squashfs`, `erofs`, `xfs`, `btrfs`,
        `swap`, `luks`, `lvm`, or an empty string."""
        start = partition.start if partition else 0
        end = start + partition.size if partition else self.size
        with self.path.open("rb") as stream:
            for offset, magic, name in _MAGICS:
                stream.seek(start + offset)
                if start + offset + len(magic) <= end and stream.read(len(magic)) == magic:
                    return name
        return ""

    def ext4(self, partition: Partition | None = None) -> Ext4:
        """The ext2, ext3 or ext4 file system in a partition, or in the whole image."""
        return Ext4(self.path, partition.start if partition else 0, scratch=self._scratch)

    def fat(self, partition: Partition | None = None) -> Fat:
        """The FAT file system in a partition, or in the whole image."""
        return Fat(self.path, partition.start if partition else 0)

    def iso(self) -> Iso:
        """The ISO 9660 file system of the image."""
        return Iso(self.path, scratch=self._scratch)

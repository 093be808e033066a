"""An initramfs: one or more cpio archives ("newc"), each of them possibly compressed."""

from __future__ import annotations

import re
import stat as modes

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.archive import decompress_first, is_compressed
from benchflow.boot.inspect.filesystem import Entry, Kind
from benchflow.boot.inspect.listed_filesystem import Tree
from benchflow.boot.sanitize import first_line

LIMIT = 512 << 20
_HEADER = 110
# Stricter than int(): that takes signs, and a size below zero leads back for ever.
_DIGITS = re.compile(rb"07070[12][0-9A-Fa-f]{104}")
_MAX_SEGMENTS = 64
_KINDS: dict[int, Kind] = {
    modes.S_IFREG: "file",
    modes.S_IFDIR: "directory",
    modes.S_IFLNK: "symlink",
    modes.S_IFCHR: "device",
    modes.S_IFBLK: "device",
    modes.S_IFIFO: "fifo",
    modes.S_IFSOCK: "socket",
}


class Initramfs(Tree):
    """The tree that the kernel would unpack; later archives replace files of earlier ones.

    The format is the kernel's Documentation/driver-api/early-userspace/buffer-format.rst. `limit`
    bounds the unpacked size of all archives together.
    """

    def __init__(self, data: bytes, *, limit: int = LIMIT) -> None:
        super().__init__("the initramfs")
        self._contents: dict[str, bytes] = {}
        self._links: dict[tuple[int, int, int], list[Entry]] = {}
        self.segments = 0
        self._left = limit
        rest = data
        while rest := rest.lstrip(b"\0"):
            self.segments += 1
            if self.segments > _MAX_SEGMENTS:
                raise BadDeliverable(f"the initramfs has more than {_MAX_SEGMENTS} archives")
            if is_compressed(rest):
                unpacked, rest = decompress_first(rest, self._left)
                self._spend(len(unpacked))
                while unpacked := unpacked.lstrip(b"\0"):
                    unpacked = self._archive(unpacked)
            else:
                before = len(rest)
                rest = self._archive(rest)
                self._spend(before - len(rest))
        if self.segments == 0:
            raise BadDeliverable("the initramfs is empty")

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise BadDeliverable("the initramfs holds more than allowed")

    def _archive(self, data: bytes) -> bytes:
        """Read one archive; the bytes after its trailer."""
        position = 0
        self._links.clear()
        while True:
            header = data[position : position + _HEADER]
            if not _DIGITS.fullmatch(header):
                raise BadDeliverable(f"the initramfs is damaged at byte {position}")
            fields = [int(header[at : at + 8], 16) for at in range(6, _HEADER, 8)]
            inode, mode, uid, gid, links, _, size, major, minor, _, _, name_size, _ = fields
            start = position + _HEADER
            name = data[start : start + name_size].rstrip(b"\0").decode(errors="surrogateescape")
            body = _align(start + name_size)
            position = _align(body + size)
            if body + size > len(data):
                raise BadDeliverable("the initramfs is cut off")
            if name == "TRAILER!!!":
                return data[position:]
            self._enter(name, mode, uid, gid, data[body : body + size])
            if links > 1 and modes.S_ISREG(mode):
                self._share(self._path(name), (inode, major, minor))

    def _enter(self, name: str, mode: int, uid: int, gid: int, content: bytes) -> None:
        path = self._path(name)
        if path == "/":
            return
        kind = _KINDS.get(modes.S_IFMT(mode))
        if kind is None:
            raise BadDeliverable(f"{first_line(path)} has the impossible mode {mode:o}")
        target = content.decode(errors="surrogateescape") if kind == "symlink" else ""
        size = len(content) if kind == "file" else 0
        self._add(Entry(path, kind, size, modes.S_IMODE(mode), uid, gid, target=target))
        self._contents[path] = content

    def _share(self, path: str, key: tuple[int, int, int]) -> None:
        """Hard links: only the last of the names carries the content."""
        parent, _, last = path.rpartition("/")
        entry = self._folders[parent or "/"][last]
        names = self._links.setdefault(key, [])
        names.append(entry)
        content = next((self._contents[e.path] for e in names if self._contents[e.path]), b"")
        for other in names:
            self._contents[other.path] = content
            self._add(Entry(other.path, "file", len(content), other.mode, other.uid, other.gid))

    def _read(self, entry: Entry, limit: int) -> bytes:
        return self._contents[entry.path]


def _align(position: int) -> int:
    return (position + 3) & ~3

"""A file system inside an image: one interface for ext4, FAT and ISO 9660, nothing mounted."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.sanitize import first_line

Kind = Literal["file", "directory", "symlink", "device", "fifo", "socket"]

READ_LIMIT = 64 << 20
_MAX_ENTRIES = 500_000
_MAX_DEPTH = 100
_MAX_LINKS = 40


@dataclass(frozen=True)
class Entry:
    """One name in an image. FAT has no owners: 0; mode holds the permission bits alone."""

    path: str
    kind: Kind
    size: int = 0
    mode: int = 0
    uid: int = 0
    gid: int = 0
    key: int = 0
    target: str = ""


class FileSystem(ABC):
    """Read-only view. Paths are absolute; symbolic links are followed inside the image only.

    Everything that the image does wrong raises BadDeliverable.
    """

    def __init__(self) -> None:
        self._cache: dict[str, dict[str, Entry]] = {}
        self._entries = 0

    @abstractmethod
    def _list(self, directory: Entry) -> dict[str, Entry]:
        """The entries of a directory by name, without `.` and `..`."""

    @abstractmethod
    def _read(self, entry: Entry, limit: int) -> bytes:
        """The content of a regular file of at most `limit` bytes."""

    @abstractmethod
    def _target(self, entry: Entry) -> str:
        """Where a symbolic link points."""

    def _root(self) -> Entry:
        return Entry("/", "directory", mode=0o755)

    def _fold(self, name: str) -> str:
        """The form of a name in which two names are the same."""
        return name

    def _prefetch(self, directories: list[Entry]) -> None:  # noqa: B027
        """Told before all of these are listed; for backends that answer faster in bulk."""

    def stat(self, path: str, *, follow: bool = True) -> Entry:
        """The entry at `path`; of its target when it is a symbolic link and `follow` is true."""
        entry = self._root()
        parts = [part for part in path.split("/") if part not in ("", ".")][::-1]
        links = 0
        while parts:
            part = parts.pop()
            if part == "..":
                entry = self.stat(posixpath.dirname(entry.path), follow=False)
                continue
            found = self._children(entry).get(self._fold(part))
            if found is None:
                raise BadDeliverable(f"{first_line(path)} is not in the image")
            if found.kind == "symlink" and (parts or follow):
                links += 1
                if links > _MAX_LINKS:
                    raise BadDeliverable(f"{first_line(path)} is a loop of symbolic links")
                target = self._target(found)
                parts += [p for p in target.split("/") if p not in ("", ".")][::-1]
                if target.startswith("/"):
                    entry = self._root()
                continue
            entry = found
        return entry

    def exists(self, path: str, *, follow: bool = True) -> bool:
        """Whether `stat` would find something."""
        try:
            self.stat(path, follow=follow)
        except BadDeliverable:
            return False
        return True

    def listdir(self, path: str = "/") -> list[str]:
        """The sorted names in the directory at `path`."""
        entries = self._children(self.stat(path)).values()
        return sorted(posixpath.basename(entry.path) for entry in entries)

    def readlink(self, path: str) -> str:
        """Where the symbolic link at `path` points."""
        entry = self.stat(path, follow=False)
        if entry.kind != "symlink":
            raise BadDeliverable(f"{first_line(path)} is not a symbolic link")
        return self._target(entry)

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The content of the file at `path`; BadDeliverable when it is larger than `limit`."""
        entry = self.stat(path)
        if entry.kind != "file":
            raise BadDeliverable(f"{first_line(path)} is a {entry.kind}, not a file")
        if entry.size > limit:
            raise BadDeliverable(f"{first_line(path)} has {entry.size} bytes; the limit is {limit}")
        return self._read(entry, limit)

    def read_text(self, path: str, limit: int = 1 << 20) -> str:
        """The same as text; bytes that are not UTF-8 are replaced."""
        return self.read(path, limit).decode(errors="replace")

    def walk(self, top: str = "/") -> Iterator[Entry]:
        """Every entry below `top`, a directory before what it holds; links are not followed."""
        level = [self.stat(top)]
        seen: set[int] = set()
        for _ in range(_MAX_DEPTH):
            self._prefetch(level)
            following: list[Entry] = []
            for directory in level:
                for entry in self._children(directory).values():
                    yield entry
                    if entry.kind != "directory":
                        continue
                    if entry.key and entry.key in seen:
                        raise BadDeliverable(f"{first_line(entry.path)} is linked twice")
                    seen.add(entry.key)
                    following.append(entry)
            if not following:
                return
            level = following
        raise BadDeliverable(f"directories are nested more than {_MAX_DEPTH} deep")

    def contents(self, top: str = "/", limit: int = READ_LIMIT) -> Iterator[tuple[Entry, bytes]]:
        """Every regular file below `top` with its content; BadDeliverable above `limit` bytes."""
        for entry in self.walk(top):
            if entry.kind == "file":
                yield entry, self.read(entry.path, limit)

    def _children(self, directory: Entry) -> dict[str, Entry]:
        if directory.kind != "directory":
            raise BadDeliverable(f"{first_line(directory.path)} is not a directory")
        if directory.path not in self._cache:
            listed = self._list(directory)
            folded = {self._fold(name): entry for name, entry in listed.items()}
            self._entries += len(listed)
            if self._entries > _MAX_ENTRIES:
                raise BadDeliverable(f"the image holds more than {_MAX_ENTRIES} files")
            self._cache[directory.path] = folded
        return self._cache[directory.path]


def child_path(directory: str, name: str) -> str:
    """The path of `name` in `directory`. Raises BadDeliverable for names that cannot be names."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise BadDeliverable(f"{first_line(directory)} holds the impossible name {name[:80]!r}")
    return posixpath.join(directory, name)

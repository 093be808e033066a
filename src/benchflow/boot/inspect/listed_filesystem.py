"""A file system whose names are all listed at once: archives and ISO images."""

from __future__ import annotations

import posixpath

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.filesystem import Entry, FileSystem, child_path
from benchflow.boot.sanitize import first_line

_MAX_ENTRIES = 500_000


class Tree(FileSystem):
    """A file system whose whole list of names is known: `content` reads an entry's bytes."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._folders: dict[str, dict[str, Entry]] = {"/": {}}
        self._count = 0

    def _add(self, entry: Entry) -> None:
        """Enter an entry; as in unpacking, a later one of the same name replaces an earlier."""
        self._count += 1
        if self._count > _MAX_ENTRIES:
            raise BadDeliverable(f"{self._what} holds more than {_MAX_ENTRIES} files")
        parent, name = posixpath.split(entry.path)
        folder = self._folders.get(parent)
        if folder is None:
            self._add(Entry(parent, "directory", mode=0o755))
            folder = self._folders[parent]
        old = folder.get(name)
        if old is not None and old.kind == "directory" and entry.kind != "directory":
            raise BadDeliverable(f"{self._what}: {first_line(entry.path)} is there twice")
        folder[name] = entry
        if entry.kind == "directory":
            self._folders.setdefault(entry.path, {})

    def _has(self, path: str) -> bool:
        parent, name = posixpath.split(path)
        return name in self._folders.get(parent, {})

    def _path(self, name: str) -> str:
        path = "/"
        for part in name.split("/"):
            if part not in ("", "."):
                path = child_path(path, part)
        return path

    def _list(self, directory: Entry) -> dict[str, Entry]:
        return self._folders[directory.path]

    def _target(self, entry: Entry) -> str:
        return entry.target

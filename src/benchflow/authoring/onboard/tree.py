"""The files of a repository as names, sizes and bounded contents: hostile, so only ever read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benchflow.errors import UsageError

#: A file above this is not read: what states how a project is built is never as large.
TEXT_MAX = 1 << 20
FILES_MAX = 200_000
TOTAL_MAX = 2 << 30
DEPTH_MAX = 64
_LFS = b"version https://git-lfs.github.com/spec/"
#: Folders that hold others' work or what was built, whose build files are not the project's.
_FOREIGN = re.compile(
    r"(?:^|/)(?:vendor|vendored|_vendor|third[_-]?party|node_modules|site-packages|\.venv|venv"
    r"|bower_components|dist|\.tox|\.eggs|__pycache__)/"
)
_TESTS = re.compile(r"(?:^|/)(?:tests?|testing|spec|__tests__|testdata|fixtures|examples?)/")


@dataclass(frozen=True)
class Note:
    """Something about the repository that an author has to know, and where it is."""

    text: str
    where: str = ""


@dataclass
class Tree:
    """`sizes` are the regular files by name, `links` where each link leads."""

    sizes: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    submodules: list[str] = field(default_factory=list)
    refused: list[Note] = field(default_factory=list)
    reader: Callable[[str], bytes] = lambda _: b""
    total: int = 0
    _texts: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, size: int, *, executable: bool = False) -> None:
        """Counts a regular file. Raises UsageError for a repository beyond all bounds."""
        if not self._fits(name):
            return
        self.sizes[name] = size
        if executable:
            self.executable.add(name)
        self.total += size
        if len(self.sizes) > FILES_MAX or self.total > TOTAL_MAX:
            raise UsageError(
                f"the repository has more than {FILES_MAX:,} files or {TOTAL_MAX >> 30} GiB",
                hint="name a folder of it, or a release of its source without data",
            )

    def link(self, name: str, target: str) -> None:
        """A symbolic link, which is never followed; one that leads out is told."""
        if not self._fits(name):
            return
        self.links[name] = target
        inside = os.path.normpath(str(PurePosixPath(name).parent / target))
        if target.startswith("/") or inside.split("/")[0] == "..":
            self.refused.append(Note(f"link to {shown(target)}, outside: left out", shown(name)))

    def _fits(self, name: str) -> bool:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts or len(parts) > DEPTH_MAX or "\0" in name:
            self.refused.append(Note("a name that leads out, or too deep: left out", shown(name)))
            return False
        if not _is_utf8(name):
            self.refused.append(Note("a name that is not UTF-8: kept as its bytes", shown(name)))
        return True

    def bytes_of(self, name: str) -> bytes:
        """The content of a regular file, empty where it is larger than `TEXT_MAX`."""
        return self.reader(name) if self.sizes[name] <= TEXT_MAX else b""

    def text(self, name: str) -> str:
        """The content as text; empty where it is too large, binary, or kept by Git LFS."""
        if name not in self._texts:
            data = self.bytes_of(name) if name in self.sizes else b""
            binary = b"\0" in data[:8192] or data.startswith(_LFS)
            # A form feed and the like would be ends of lines to Python, and to no editor.
            text = "" if binary else data.decode("utf-8", "replace").replace("\r\n", "\n")
            self._texts[name] = text
        return self._texts[name]

    def is_lfs(self, name: str) -> bool:
        """Whether only a pointer of Git LFS is there."""
        return self.sizes[name] < 1024 and self.bytes_of(name).startswith(_LFS)

    def named(self, *patterns: str, foreign: bool = False) -> Iterator[str]:
        """Files whose whole name matches one of the patterns, the nearest to the top first."""
        wanted = re.compile("|".join(f"(?:{one})" for one in patterns))
        for name in sorted(self.sizes, key=lambda one: (one.count("/"), one)):
            if wanted.fullmatch(name) and (foreign or not is_foreign(name)):
                yield name


def is_foreign(name: str) -> bool:
    """Whether a file is somebody else's that lies in this repository, or was built."""
    return _FOREIGN.search(name) is not None


def is_test(name: str) -> bool:
    """Whether a file is of tests or examples, whose settings are not the project's."""
    return _TESTS.search(name) is not None


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shown(name: str) -> str:
    """A name or a target as it can be printed, whatever its bytes are."""
    safe = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in safe)


def of_folder(top: Path) -> Tree:
    """The files below a folder, no link followed and nothing special opened."""
    tree = Tree()
    for directory, names, files in os.walk(top, followlinks=False):
        prefix = os.path.relpath(directory, top)
        names[:] = sorted(name for name in names if name != ".git")
        for one in sorted([*files, *names]):
            path = os.path.join(directory, one)  # noqa: PTH118 - a Path refuses no bytes, but is slow
            name = one if prefix == "." else f"{prefix}/{one}"
            _add_entry(tree, path, name)
    tree.reader = lambda name: _read_regular(top, name)
    return tree


def _add_entry(tree: Tree, path: str, name: str) -> None:
    told = os.lstat(path)
    if stat.S_ISLNK(told.st_mode):
        tree.link(name, os.readlink(path))  # noqa: PTH115
    elif stat.S_ISREG(told.st_mode):
        tree.add(name, told.st_size, executable=bool(told.st_mode & 0o100))
    elif not stat.S_ISDIR(told.st_mode):
        tree.refused.append(Note("a device, pipe or socket: left out", shown(name)))


def _read_regular(top: Path, name: str) -> bytes:
    """A file that may have been replaced since it was listed: a link or a pipe is not opened."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(top / name, flags)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        return file.read(TEXT_MAX) if stat.S_ISREG(os.fstat(handle).st_mode) else b""

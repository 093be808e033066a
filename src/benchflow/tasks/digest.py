"""Content addresses: the same bytes give the same name, on any machine and at any time."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from benchflow.base import shell_pieces
from benchflow.base.left_files import LEFT_FILES
from benchflow.errors import TaskError

# Who did what, with the empty lines before it where nothing follows.
_PEOPLE = re.compile(
    rb"(?:(?<=\n)\n+(?=(?:TABLE)+\Z))?(?:TABLE)+".replace(
        b"TABLE",
        rb"^\[\[metadata\.benchflow\.(?:authors|reviewers)\]\][^\n]*\n"
        rb"(?:(?![ \t]*\[)[^\n]*(?:\n|\Z))*",
    ),
    re.MULTILINE,
)
# What a task.toml says without moving a score: why it is not verified yet, what its exploits may
# gain, how its variants are run. To set that right must make no trial due.
_REASON = re.compile(rb'^(unverified *= *)"(?:[^"\\\n]|\\.)*"', re.MULTILINE)
_SCRIPTS = re.compile(
    rb"^\[\[metadata\.benchflow\.(?:(?:common_)?exploits|variants)\]\][^\n]*\n"
    rb"(?:(?![ \t]*\[)[^\n]*(?:\n|\Z))*",
    re.MULTILINE,
)


def files_below(root: Path, *, links: bool = False) -> list[Path]:
    """Regular files below `root`, sorted by relative path; symlinks are refused with TaskError.

    A symlink in a task would make its content depend on the machine that reads it, and could lead
    to what is nobody's business. With `links` they are listed as what they are: plain Harbor tasks
    hold them in their build contexts, where a builder copies them and follows none.
    """
    _refuse_link(root, links=links)
    found: list[Path] = []
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in LEFT_FILES)
        for name in [*names, *files]:
            _refuse_link(Path(directory) / name, links=links)
        linked = [name for name in names if (Path(directory) / name).is_symlink()]
        found += [
            Path(directory) / name
            for name in (*files, *linked)
            if name not in LEFT_FILES and not name.endswith(".pyc")
        ]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def _refuse_link(path: Path, *, links: bool = False) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (links and stat.S_ISLNK(mode))):
        raise TaskError(
            f"{path}: a task holds regular files and folders only",
            hint="replace the link or special file by a real file",
        )


def digest_of(root: Path, parts: Iterable[str], *, links: bool = False) -> str:
    """SHA-256 (hex) over names, executable bits and contents of `parts` (files or folders).

    What a `task.toml` at the root says of people, exploits and variants, or as the reason for
    `unverified`, does not count; lines that stand for shared pieces count as what they stand for
    (`base.shell_pieces`). Raises TaskError for a symlink, unless `links`: then where it
    leads to counts, and TaskError is for special files, and for what cannot be read.
    """
    total = hashlib.sha256()
    for part in sorted(parts):
        top = root / part
        _refuse_link(top, links=links)
        if not (top.exists() or top.is_symlink()):
            continue
        is_one = top.is_file() or top.is_symlink()
        for path in [top] if is_one else files_below(top, links=links):
            name = os.fsencode(path.relative_to(root).as_posix())
            if path.is_symlink():
                total.update(b"%s l %s\n" % (os.fsencode(path.readlink()), name))
                continue
            executable = b"x" if path.stat().st_mode & stat.S_IXUSR else b"-"
            data = _data(path) if links else _written_out(path, root)
            if name == b"task.toml":
                data = _SCRIPTS.sub(b"", _REASON.sub(rb'\1""', _PEOPLE.sub(b"", data)))
            content = hashlib.sha256(data).hexdigest().encode()
            total.update(b"%s %s %s\n" % (content, executable, name))
    return total.hexdigest()


def _written_out(path: Path, root: Path) -> bytes:
    try:
        return shell_pieces.read(path, root)
    except PermissionError:
        raise TaskError(f"{path}: you may not read it", hint=f"chmod a+r {path}") from None


def _data(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError:
        raise TaskError(f"{path}: you may not read it", hint=f"chmod a+r {path}") from None

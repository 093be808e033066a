"""Validate what was delivered before anything reads it. The file is hostile until shown fit."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.milestones import ChecksError

_MB = 1 << 20
MAX_FILES = 200_000
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True)
class Deliverable:
    """One entry of the manifest: limits in MiB, of the apparent size and of what is allocated."""

    path: str
    kind: str = "file"
    max_mb: float = 4096
    max_stored_mb: float = 4096


def validate(wanted: Deliverable) -> Path:
    """The path of a deliverable that is what the manifest says.

    A regular file, not empty, inside both size limits, reached through no symbolic link; for kind
    `directory` a tree of them. Nothing is read but metadata, so that a sparse terabyte costs
    nothing. Raises BadDeliverable, which fails the check that asked.
    """
    if not wanted.path.startswith("/") or ".." in wanted.path.split("/"):
        raise ChecksError(f"deliverable {wanted.path!r} is not an absolute path")
    descriptor = _open_without_links(wanted)
    try:
        status = os.fstat(descriptor)
        if wanted.kind == "directory":
            _check_tree(wanted, descriptor, status)
        else:
            _check_file(wanted, status)
    finally:
        os.close(descriptor)
    return Path(wanted.path)


def _open_without_links(wanted: Deliverable) -> int:
    """An O_PATH descriptor of the deliverable; no part of its path may be a link."""
    parts = [part for part in wanted.path.split("/") if part]
    descriptor = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for index, part in enumerate(parts):
        parent = descriptor
        try:
            descriptor = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        except (FileNotFoundError, NotADirectoryError):
            raise BadDeliverable(f"{wanted.path} was not delivered") from None
        except OSError as error:
            raise BadDeliverable(f"{wanted.path} cannot be opened: {error.strerror}") from None
        finally:
            os.close(parent)
        if index < len(parts) - 1 and stat.S_ISLNK(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            link = "/" + "/".join(parts[: index + 1])
            raise BadDeliverable(f"{wanted.path} lies behind the symbolic link {link}")
    return descriptor


def _check_file(wanted: Deliverable, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something unknown")
        raise BadDeliverable(f"{wanted.path} is {kind}, not a regular file")
    if status.st_size == 0:
        raise BadDeliverable(f"{wanted.path} is empty")
    _check_size(wanted, status.st_size, status.st_blocks * 512)


def _check_size(wanted: Deliverable, apparent: int, stored: int) -> None:
    if apparent > wanted.max_mb * _MB:
        raise BadDeliverable(
            f"{wanted.path} is {apparent / _MB:.0f} MiB large; the limit is {wanted.max_mb:g} MiB"
        )
    if stored > wanted.max_stored_mb * _MB:
        raise BadDeliverable(
            f"{wanted.path} occupies {stored / _MB:.0f} MiB; "
            f"the limit is {wanted.max_stored_mb:g} MiB"
        )


def _check_tree(wanted: Deliverable, descriptor: int, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        found_kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a regular file")
        raise BadDeliverable(f"{wanted.path} is {found_kind}, not a directory")
    apparent = stored = files = 0
    pending = [wanted.path]
    while pending:
        folder = pending.pop()
        try:
            entries = os.scandir(folder)
        except OSError as error:
            raise BadDeliverable(f"{folder} cannot be read: {error.strerror}") from None
        with entries:
            for entry in entries:
                files += 1
                if files > MAX_FILES:
                    raise BadDeliverable(f"{wanted.path} holds more than {MAX_FILES} files")
                found = entry.stat(follow_symlinks=False)
                kind = stat.S_IFMT(found.st_mode)
                if kind == stat.S_IFDIR:
                    pending.append(entry.path)
                elif kind == stat.S_IFREG:
                    apparent += found.st_size
                    stored += found.st_blocks * 512
                elif kind == stat.S_IFLNK:
                    _check_link(wanted, Path(entry.path))
                else:
                    raise BadDeliverable(f"{entry.path} is {_KINDS.get(kind, 'not a file')}")
        _check_size(wanted, apparent, stored)
    if files == 0:
        raise BadDeliverable(f"{wanted.path} is an empty directory")


def _check_link(wanted: Deliverable, link: Path) -> None:
    """Allow only links that stay inside, whatever other links they pass through.

    `..` may only lead, where it climbs real folders: after a name it could climb from wherever a
    link of that name points to.
    """
    target = str(link.readlink())
    root = wanted.path.rstrip("/")
    resolved = os.path.normpath(link.parent / target)
    inside = resolved == root or resolved.startswith(root + "/")
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = ".." in parts[next((i for i, p in enumerate(parts) if p != ".."), len(parts)) :]
    if target.startswith("/") or not inside or climbs:
        raise BadDeliverable(f"{link} is a symbolic link that points out of {wanted.path}")

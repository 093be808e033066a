"""Hands files in and out of a sandbox, one entry a packet, as the sandbox's root and inside its
root directory: a symlink can therefore lead to nothing of the host. Contents travel as open file
descriptors."""

# pathlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH101, PTH102, PTH103, PTH108, PTH112, PTH114, PTH116, PTH119, PTH120, PTH208, PTH211

from __future__ import annotations

import _socket as socket
import errno
import os
import stat
import sys

from benchflow.sandbox.inside import wire
from benchflow.sandbox.inside.sparse import copy

# A tree that is deeper cannot be made on the host, and its names do not fit into a packet.
_PATH_MAX = 4096


def main(fd: int) -> None:
    """Serve one transfer on a packet socket."""
    sys.setrecursionlimit(10_000)
    channel = socket.socket(fileno=fd)
    try:
        request, _ = wire.receive_packet(channel)
        if "get" in request:
            _give(channel, request["get"])
        else:
            _take(channel, request["put"])
        wire.send_packet(channel, {"done": True})
    except (OSError, ValueError) as error:
        wire.send_packet(channel, {"error": str(error), "errno": getattr(error, "errno", None)})


def _give(channel: socket.socket, path: str) -> None:
    parent = os.open(os.path.dirname(path) or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    batch = wire.Batch(channel)
    try:
        _give_entry(batch, parent, os.path.basename(path), "")
    finally:
        batch.flush()


def _give_entry(batch: wire.Batch, parent: int, name: str, relative: str) -> None:
    """Send one entry, and what is below it. Names are sent as surrogate-escaped text."""
    if len(os.fsencode(relative)) >= _PATH_MAX:
        raise OSError(errno.ENAMETOOLONG, "path too long")
    info = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)
    entry: wire.Message = {"path": relative, "mode": stat.S_IMODE(info.st_mode)}
    entry["mtime"] = info.st_mtime_ns
    if stat.S_ISLNK(info.st_mode):
        batch.add(entry | {"kind": "link", "target": os.readlink(name, dir_fd=parent)})
    elif stat.S_ISDIR(info.st_mode):
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        directory = os.open(name or ".", flags, dir_fd=parent)
        try:
            batch.add(entry | {"kind": "directory"})
            for child in sorted(os.listdir(directory)):
                below = f"{relative}/{child}" if relative else child
                _give_entry(batch, directory, child, below)
        finally:
            os.close(directory)
    elif stat.S_ISREG(info.st_mode):
        # What was a file a moment ago may be a fifo by now: never block on it.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        file = os.open(name, flags, dir_fd=parent)
        try:
            _give_file(batch, file, entry | {"kind": "file"})
        finally:
            os.close(file)
    else:
        batch.add(entry | {"kind": "special"})


def _give_file(batch: wire.Batch, file: int, entry: wire.Message) -> None:
    info = os.fstat(file)
    if not stat.S_ISREG(info.st_mode):
        return
    # Elsewhere than on the sandbox's own disk a program of the sandbox's may be who answers.
    if info.st_size <= wire.Batch.SMALL and info.st_dev == os.stat("/").st_dev:
        data = os.read(file, wire.Batch.SMALL + 1)
        if len(data) <= wire.Batch.SMALL:  # it may have grown meanwhile
            batch.add(entry | {"data": data})
            return
    batch.alone(entry, file)


def _take(channel: socket.socket, path: str) -> None:
    """Receive entries and make them below `path`, whose parents are made when missing."""
    parent = os.path.dirname(path.rstrip("/")) or "/"
    os.makedirs(parent, exist_ok=True)
    modes: list[tuple[str, int]] = []
    while True:
        packet, fds = wire.receive_packet(channel)
        if "end" in packet:
            break
        try:
            for entry in packet.get("batch") or (packet,):
                target = f"{path.rstrip('/')}/{entry['path']}".rstrip("/") if entry["path"] else ""
                _make(target or path.rstrip("/") or "/", entry, fds, modes)
        finally:
            for fd in fds:
                os.close(fd)
    for name, mode in reversed(modes):
        os.chmod(name, mode)


def _make(target: str, entry: wire.Message, fds: list[int], modes: list[tuple[str, int]]) -> None:
    kind = entry["kind"]
    if kind == "directory":
        if not os.path.isdir(target) or (entry["path"] and os.path.islink(target)):
            _clear(target)
            os.mkdir(target, 0o700)
            modes.append((target, entry["mode"]))
        return
    _clear(target)
    if kind == "link":
        os.symlink(entry["target"], target)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(target, flags, 0o600)
    try:
        if "data" in entry:
            os.write(file, entry["data"])
        else:
            copy(fds[0], file)
        os.fchmod(file, entry["mode"])
        os.utime(file, ns=(entry["mtime"], entry["mtime"]))
    finally:
        os.close(file)


def _clear(target: str) -> None:
    if os.path.lexists(target):
        if os.path.isdir(target) and not os.path.islink(target):
            raise IsADirectoryError(21, f"{target} is a directory")
        os.unlink(target)

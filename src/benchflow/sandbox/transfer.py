"""Files in and out of a sandbox: never through tar, never through a symlink of the sandbox."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path
from typing import Protocol

from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox.inside import wire
from benchflow.sandbox.inside.sparse import copy

#: Errors of the sandbox's side that may just as well be the machine's.
_ANYBODYS = (errno.EIO, errno.ENOMEM, errno.ENFILE, errno.EAGAIN, None)
#: Errors of the host's side that only what is copied can bring about.
_THE_SOURCES = (errno.ENAMETOOLONG, errno.EFBIG)
#: Seconds without a word after which nobody answers any more: a file system that is a program of
#: the sandbox's may never do. What is put has to be copied before the answer.
GET_PATIENCE, PUT_PATIENCE = 600.0, 3600.0
#: What an entry takes at least, whatever is in it.
ENTRY_BYTES = 4096


class Asked(Protocol):
    """A sandbox, as far as files need one."""

    def ask(self, message: wire.Message, fds: tuple[int, ...] = ()) -> None:
        """Send a request to its process 1."""


class Unreadable(FileNotFoundError):
    """What is asked for is there in a way in which nobody can have it: a symlink in a circle, a
    name that is too long, more than the sandbox may write. That is the doing of who works inside.
    """


def _porter(box: Asked, request: wire.Message, patience: float) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(patience)
    with theirs:
        try:
            box.ask({"porter": True}, (theirs.fileno(),))
            wire.send_packet(ours, request)
        except OSError as error:
            ours.close()
            raise InfrastructureError(f"the sandbox is gone: {error.strerror}") from error
    return ours


def _next(channel: socket.socket) -> tuple[wire.Message, list[int]]:
    try:
        try:
            message, fds = wire.receive_packet(channel)
        except ConnectionResetError:
            # It left without reading all; unix(7) reports that before what it had said.
            message, fds = wire.receive_packet(channel)
    except (EOFError, ConnectionError) as error:
        raise InfrastructureError("the sandbox went away in the middle of a transfer") from error
    except TimeoutError as error:
        raise InfrastructureError("the sandbox does not answer in a transfer") from error
    return message, fds


def get(box: Asked, inside: str, host: Path, limit: int | None = None) -> list[str]:
    """See `Sandbox.get`; more than `limit` bytes are Unreadable."""
    refused: list[str] = []
    modes: list[tuple[Path, int]] = []
    with _porter(box, {"get": _absolute(inside)}, GET_PATIENCE) as channel:
        while True:
            packet, fds = _next(channel)
            if "error" in packet:
                raise _reported(packet, inside)
            if "done" in packet:
                break
            try:
                for entry in packet.get("batch") or (packet,):
                    stored = _receive(entry, fds, host, modes, limit)
                    if stored is None:
                        refused.append(f"{inside}/{entry['path']}".rstrip("/"))
                    elif limit is not None:
                        limit -= max(stored, ENTRY_BYTES)
            except OSError as error:
                if error.errno not in _THE_SOURCES:
                    raise
                raise Unreadable(
                    error.errno, f"cannot be copied: {error.strerror}", inside
                ) from error
            finally:
                for fd in fds:
                    os.close(fd)
    for path, mode in reversed(modes):
        path.chmod(mode)
    return refused


def _reported(said: wire.Message, inside: str) -> OSError:
    """What the porter met with while it read."""
    number = said["errno"]
    if number in (errno.ENOENT, errno.ENOTDIR):
        return FileNotFoundError(number, "no such file in the sandbox", inside)
    kind = OSError if number in _ANYBODYS else Unreadable
    return kind(number or 0, f"{said['error']} in the sandbox", inside)


def link_out(state: Path, inside: str, host: Path) -> bool:
    """Hard-link a regular file out of the writable layer of a dead sandbox; False when it is not
    there, not alone (another name could belong to anybody) or on another file system."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    *parents, name = [part for part in inside.split("/") if part] or [""]
    if not name or ".." in (*parents, name):
        return False
    where = os.open(state / "fs" / "upper", flags | os.O_DIRECTORY)
    try:
        for parent in parents:
            below = os.open(parent, flags | os.O_DIRECTORY, dir_fd=where)
            os.close(where)
            where = below
        info = os.stat(name, dir_fd=where, follow_symlinks=False)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            return False
        draft = host.with_name(f".{host.name}.linked")
        os.link(name, draft, src_dir_fd=where, follow_symlinks=False)
    except OSError:  # anything unusual is left to the way that copies
        return False
    finally:
        os.close(where)
    os.chown(draft, os.getuid(), os.getgid(), follow_symlinks=False)
    draft.chmod(info.st_mode & 0o777 | 0o400)
    draft.replace(host)
    return True


def _receive(
    entry: wire.Message,
    fds: list[int],
    host: Path,
    modes: list[tuple[Path, int]],
    limit: int | None,
) -> int | None:
    """Make one entry; the bytes that it took, None when it was refused."""
    if limit is not None and limit < 0:
        raise OSError(errno.EFBIG, "more than may be copied")
    target = host / entry["path"] if entry["path"] else host
    if entry["kind"] == "directory":
        # One may be there from a get that was cut off; a symlink must not lead what follows away.
        if entry["path"] and (target.is_symlink() or not target.is_dir()):
            target.unlink(missing_ok=True)
        target.mkdir(mode=0o700, exist_ok=True)
        modes.append((target, entry["mode"] & 0o777 | 0o700))
        return 0
    if entry["kind"] == "special" or (entry["kind"] == "link" and not entry["path"]):
        return None
    if target.is_symlink() or target.exists():
        target.unlink()
    if entry["kind"] == "link":
        target.symlink_to(entry["target"])
        return 0
    data = entry.get("data")
    try:
        if data is None:
            os.fstat(fds[0])
    except PermissionError as error:
        # fuse(8): what a program of the sandbox's serves is shown to nobody outside.
        raise Unreadable(
            error.errno, "served by a program of the sandbox's", entry["path"]
        ) from error
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(target, flags, 0o600)
    try:
        stored = copy(fds[0], file, limit) if data is None else os.write(file, data)
        os.fchmod(file, entry["mode"] & 0o777 | 0o400)
        os.utime(file, ns=(entry["mtime"], entry["mtime"]))
    finally:
        os.close(file)
    return stored


def put(box: Asked, host: Path, inside: str) -> None:
    """See `Sandbox.put`."""
    if not host.exists():
        raise UsageError(f"cannot copy {host} into the sandbox: it does not exist")
    with _porter(box, {"put": _absolute(inside)}, PUT_PATIENCE) as channel:
        try:
            batch = wire.Batch(channel)
            _send(batch, host, "", follow=True)
            batch.flush()
            wire.send_packet(channel, {"end": True})
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            pass  # the porter's own message, read below, says why it left
        answer, _ = _next(channel)
    if "error" in answer:
        raise OSError(answer["errno"] or 0, f"{inside} in the sandbox: {answer['error']}")


def _send(batch: wire.Batch, path: Path, relative: str, *, follow: bool) -> None:
    info = path.stat(follow_symlinks=follow)
    entry: wire.Message = {
        "path": relative,
        "mode": stat.S_IMODE(info.st_mode),
        "mtime": info.st_mtime_ns,
    }
    if stat.S_ISLNK(info.st_mode):
        batch.add(entry | {"kind": "link", "target": str(path.readlink())})
    elif stat.S_ISDIR(info.st_mode):
        batch.add(entry | {"kind": "directory"})
        for child in sorted(os.listdir(path)):  # noqa: PTH208 (paths of 20,000 sort slowly)
            below = f"{relative}/{child}" if relative else child
            _send(batch, path / child, below, follow=False)
    elif stat.S_ISREG(info.st_mode):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
        try:
            data = os.read(file, wire.Batch.SMALL + 1) if info.st_size <= wire.Batch.SMALL else b""
            if info.st_size <= wire.Batch.SMALL and len(data) <= wire.Batch.SMALL:
                batch.add(entry | {"kind": "file", "data": data})
            else:
                batch.alone(entry | {"kind": "file"}, file)
        finally:
            os.close(file)
    else:
        raise UsageError(f"cannot copy {path}: neither file, directory nor symlink")


def _absolute(inside: str) -> str:
    if not inside.startswith("/"):
        raise UsageError(f"{inside!r}: a path in a sandbox is absolute")
    return inside.rstrip("/") or "/"

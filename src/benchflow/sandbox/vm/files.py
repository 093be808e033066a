"""Files in and out of a machine. What it sends is hostile: paths, sizes, order, all of it."""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox.transfer import ENTRY_BYTES, GET_PATIENCE, PUT_PATIENCE, Unreadable
from benchflow.sandbox.vm.channel import Channel, Gone, Stream
from benchflow.sandbox.vm.frames import Kind

_PATH_MAX = 4096
_PIECE = 256 * 1024
_MOST_ENTRIES = 10_000_000
_GONE = "the machine went away in the middle of a transfer"


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: bytes
    path: bytes
    mode: int
    time: int


class _Incoming:
    """The bytes of a transfer, as a file."""

    def __init__(self, stream: Stream, patience: float) -> None:
        self._stream = stream
        self._patience = patience
        self._left = bytearray()
        self._has_ended = False

    def read(self, count: int) -> bytes:
        """Exactly so many. Raises Unreadable where the machine ends sooner."""
        while len(self._left) < count:
            if self._has_ended:
                raise _nonsense("it ends too soon")
            self._more()
        data = bytes(self._left[:count])
        del self._left[:count]
        return data

    def number(self, form: str) -> int:
        return int(struct.unpack(f"<{form}", self.read(struct.calcsize(form)))[0])

    def text(self, most: int) -> bytes:
        length = self.number("I")
        if length > most:
            raise _nonsense(f"a text of {length} bytes")
        return self.read(length)

    def _more(self) -> None:
        try:
            kind, data = self._stream.wait(time.monotonic() + self._patience)
        except Gone:
            raise InfrastructureError(_GONE) from None
        except TimeoutError:
            raise InfrastructureError("the machine does not answer in a transfer") from None
        if kind is Kind.OUT:
            self._left += data
        else:
            self._has_ended = True


def _nonsense(what: str) -> Unreadable:
    return Unreadable(errno.EPROTO, f"the machine sent nonsense: {what}", "")


def _reported(incoming: _Incoming, inside: str) -> OSError:
    number = incoming.number("I")
    said = incoming.text(_PATH_MAX).decode("utf-8", "replace")
    if number in (errno.ENOENT, errno.ENOTDIR):
        return FileNotFoundError(number, "no such file in the machine", inside)
    # What its disk cannot give may be ours: the host's disk lies under it.
    kind = OSError if number == errno.EIO else Unreadable
    return kind(number, f"{said} in the machine", inside)


def get(channel: Channel, inside: str, host: Path, limit: int | None) -> list[str]:
    """See `Machine.get`; more than `limit` bytes are Unreadable."""
    stream = _open(channel, Kind.GIVE, inside)
    try:
        return _Tree(_Incoming(stream, GET_PATIENCE), inside, host, limit).receive()
    finally:
        stream.kill()
        stream.close()


def _open(channel: Channel, kind: Kind, inside: str) -> Stream:
    try:
        return channel.open(kind, absolute(inside).encode("utf-8", "surrogateescape"))
    except Gone:
        raise InfrastructureError(_GONE) from None


class _Tree:
    """A file or a tree on its way to `host`.

    An entry is made only in a directory that this transfer has made or found itself, and never
    twice: no symlink that was sent can be on the way to a later one.
    """

    def __init__(self, incoming: _Incoming, inside: str, host: Path, limit: int | None) -> None:
        self._incoming = incoming
        self._inside = inside
        self._host = host
        self._limit = limit
        self._seen: set[bytes] = set()
        self._folders: set[bytes] = set()
        self._modes: list[tuple[Path, int]] = []
        self._refused: list[str] = []

    def receive(self) -> list[str]:
        """Make all of it; what was left out."""
        while (kind := self._incoming.read(1)) != b"z":
            if kind == b"e":
                raise _reported(self._incoming, self._inside)
            if kind not in (b"d", b"f", b"l", b"s"):
                raise _nonsense(f"an entry {kind!r}")
            path = self._incoming.text(_PATH_MAX)
            entry = _Entry(kind, path, self._incoming.number("I"), self._incoming.number("Q"))
            try:
                self._make(entry, self._place(entry.path))
            except OSError as error:
                if error.errno not in (errno.ENAMETOOLONG, errno.EFBIG, errno.EILSEQ):
                    raise
                said = f"cannot be copied: {error.strerror}"
                raise Unreadable(error.errno, said, self._inside) from error
        if not self._seen:
            raise _nonsense("nothing at all")
        for folder, mode in reversed(self._modes):
            folder.chmod(mode)
        return self._refused

    def _place(self, path: bytes) -> Path:
        parent, _, name = path.rpartition(b"/")
        if path and (name in (b"", b".", b"..") or b"\0" in path or parent not in self._folders):
            raise _nonsense(f"a path {path[:80]!r}")
        if path in self._seen or (not path and self._seen) or len(self._seen) > _MOST_ENTRIES:
            raise _nonsense(f"{path[:80]!r} out of turn")
        self._seen.add(path)
        return self._host / os.fsdecode(path) if path else self._host

    def _make(self, entry: _Entry, target: Path) -> None:
        self._spend(ENTRY_BYTES)
        if entry.kind == b"d":
            if entry.path and (target.is_symlink() or not target.is_dir()):
                target.unlink(missing_ok=True)
            target.mkdir(mode=0o700, exist_ok=True)
            self._folders.add(entry.path)
            self._modes.append((target, entry.mode & 0o777 | 0o700))
            return
        goal = self._incoming.text(_PATH_MAX) if entry.kind == b"l" else b""
        if entry.kind == b"s" or (entry.kind == b"l" and not entry.path):
            self._refused.append(f"{self._inside}/{os.fsdecode(entry.path)}".rstrip("/"))
            return
        if target.is_symlink() or target.exists():
            target.unlink()
        if entry.kind == b"l":
            if not goal or b"\0" in goal:
                raise _nonsense("a link to nothing")
            target.symlink_to(os.fsdecode(goal))
        else:
            self._make_file(entry, target)

    def _make_file(self, entry: _Entry, target: Path) -> None:
        size = self._incoming.number("Q")
        if size >= 1 << 63 or entry.time >= 1 << 63:
            raise _nonsense(f"a file of {size} bytes")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(target, flags, 0o600)
        try:
            os.ftruncate(file, size)
            for at, data in self._pieces(size):
                _write(file, data, at)
            os.fchmod(file, entry.mode & 0o777 | 0o400)
            os.utime(file, ns=(entry.time, entry.time))
        finally:
            os.close(file)

    def _pieces(self, size: int) -> Iterator[tuple[int, bytes]]:
        end = 0
        while True:
            at, length = self._incoming.number("Q"), self._incoming.number("I")
            if not length:
                return
            if at < end or length > _PIECE or at + length > size:
                raise _nonsense("a piece that is not in its file")
            self._spend(length)
            yield at, self._incoming.read(length)
            end = at + length

    def _spend(self, count: int) -> None:
        if self._limit is None:
            return
        self._limit -= count
        if self._limit < 0:
            raise OSError(errno.EFBIG, "more than may be copied")


def _write(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(file, view, at)
        view, at = view[done:], at + done


def put(channel: Channel, host: Path, inside: str) -> None:
    """See `Machine.put`."""
    if not host.exists():
        raise UsageError(f"cannot copy {host} into the machine: it does not exist")
    stream = _open(channel, Kind.TAKE, inside)
    try:
        incoming = _Incoming(stream, PUT_PATIENCE)
        sending = _Outgoing(stream)
        for data in _entries(host, b"", follow=True):
            if not sending.send(data):
                break
        else:
            sending.send(b"z")
        sending.flush()
        stream.end()
        answer = incoming.read(1)
        if answer == b"e":
            number = incoming.number("I")
            said = incoming.text(2 * _PATH_MAX).decode("utf-8", "replace")
            raise OSError(number, f"{inside} in the machine: {said}")
        if answer != b"z":
            raise OSError(errno.EPROTO, f"{inside} in the machine: nonsense")
    finally:
        stream.kill()
        stream.close()


class _Outgoing:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._left = bytearray()

    def send(self, data: bytes) -> bool:
        """Send it with what comes after it; False when nobody takes any more."""
        self._left += data
        return len(self._left) < _PIECE or self.flush()

    def flush(self) -> bool:
        deadline = time.monotonic() + PUT_PATIENCE
        while self._left:
            count = self._stream.send(self._left)
            del self._left[:count]
            if count:
                continue
            if time.monotonic() > deadline:
                raise InfrastructureError("the machine does not answer in a transfer")
            try:
                self._stream.sleep(deadline)
            except TimeoutError:
                continue
            if self._stream.is_gone:
                raise InfrastructureError(_GONE)
        return True


def _entries(path: Path, relative: bytes, *, follow: bool) -> Iterator[bytes]:
    info = path.stat(follow_symlinks=follow)
    kinds = {stat.S_IFLNK: b"l", stat.S_IFDIR: b"d", stat.S_IFREG: b"f"}
    kind = kinds.get(stat.S_IFMT(info.st_mode))
    if kind is None:
        raise UsageError(f"cannot copy {path}: neither file, directory nor symlink")
    head = kind + _text(relative) + struct.pack("<IQ", stat.S_IMODE(info.st_mode), info.st_mtime_ns)
    if kind == b"l":
        yield head + _text(os.fsencode(path.readlink()))
    elif kind == b"d":
        yield head
        for child in sorted(os.listdir(path)):  # noqa: PTH208 (paths of 20,000 sort slowly)
            name = os.fsencode(child)
            below = relative + b"/" + name if relative else name
            yield from _entries(path / child, below, follow=False)
    else:
        yield head + struct.pack("<Q", info.st_size)
        yield from _contents(path, info.st_size, follow=follow)


def _contents(path: Path, size: int, *, follow: bool) -> Iterator[bytes]:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    try:
        at = 0
        while at < size:
            try:
                start = os.lseek(file, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole from here on
                    break
                raise
            at, end = start, min(os.lseek(file, start, os.SEEK_HOLE), size)
            while at < end and (data := os.pread(file, min(_PIECE, end - at), at)):
                yield struct.pack("<QI", at, len(data)) + data
                at += len(data)
            if at < end:  # it shrank while it was read
                break
    finally:
        os.close(file)
    yield struct.pack("<QI", 0, 0)


def _text(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def absolute(inside: str) -> str:
    if not inside.startswith("/"):
        raise UsageError(f"{inside!r}: a path in a sandbox is absolute")
    return inside.rstrip("/") or "/"

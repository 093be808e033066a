"""The flash of a unit: a block device on the network, where each write and each flush is seen.

A guest has it by the protocol of the kernel's `nbd`, without the handshake: what tells the kernel
of it in the guest is ours. So the state of the flash at any moment of a call can be made again.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Iterator

from ordered import FLASH

BLOCK = 4096
_REQUEST, _REPLY = 0x25609513, 0x67446698
_READ, _WRITE, _DISCONNECT, _FLUSH = range(4)
_LARGEST = 32 << 20
#: What a call may write, all in all; a program that writes more has failed.
_MOST = 192 << 20

#: A write by its block, or a flush.
Event = tuple[int, bytes] | None


class Log:
    """What was written while it was kept, in order; `before` is the flash when it began."""

    def __init__(self, before: bytes) -> None:
        self.before = before
        self.events: list[Event] = []
        self.size = 0

    def write(self, at: int, data: bytes, now: bytearray) -> None:
        self.size += len(data)
        if self.size > _MOST:
            return
        for block in range(at // BLOCK, (at + len(data) - 1) // BLOCK + 1):
            self.events.append((block, bytes(now[block * BLOCK : (block + 1) * BLOCK])))

    def flush(self) -> None:
        if self.events and self.events[-1] is not None:
            self.events.append(None)

    @property
    def changed(self) -> bool:
        """Whether any block was written that is another now."""
        return any(
            one and one[1] != self.before[one[0] * BLOCK : (one[0] + 1) * BLOCK]
            for one in self.events
        )

    def epochs(self) -> list[list[tuple[int, bytes]]]:
        """What was written between flushes. The last has not been flushed; it may be empty."""
        found: list[list[tuple[int, bytes]]] = [[]]
        for one in self.events:
            if one is None:
                found.append([])
            else:
                found[-1].append(one)
        return found

    def cuts(self, draw: random.Random, count: int, torn: bool) -> Iterator[bytes]:
        """Up to `count` states that the flash may be in when the power goes during the call, the
        last of them when it has just ended. `torn`: blocks on their way may hold anything."""
        assert self.size <= _MOST, "one call wrote more than 192 MiB to the flash"
        epochs = self.epochs()
        chosen = sorted(draw.sample(range(len(epochs)), min(len(epochs), count - 1)))
        while len(chosen) < count - 1:
            chosen.append(draw.randrange(len(epochs)))
        flash, done = bytearray(self.before), 0
        for number in [*sorted(chosen), len(epochs) - 1]:
            while done < number:
                for block, data in epochs[done]:
                    flash[block * BLOCK : (block + 1) * BLOCK] = data
                done += 1
            yield self._part(draw, bytes(flash), epochs[number], torn)

    @staticmethod
    def _part(
        draw: random.Random, flash: bytes, writes: list[tuple[int, bytes]], torn: bool
    ) -> bytes:
        made, share = bytearray(flash), draw.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        spoils = draw.choice((0.0, 0.3, 1.0, 1.0)) if torn else 0.0
        for block, data in writes[: 1 + int(len(writes) * draw.random() ** 0.5)]:
            place = slice(block * BLOCK, (block + 1) * BLOCK)
            if draw.random() < spoils:
                made[place] = draw.choice((bytes(BLOCK), draw.randbytes(BLOCK)))
            elif draw.random() < share:
                made[place] = data
        return bytes(made)


class Flash:
    """`data` is what it holds. `stalled`: writes wait until `let_go`; `faulty`: a place and the
    byte that it holds from now on, whatever is written: also after an erasure and a second try."""

    def __init__(self, data: bytes = bytes(FLASH)) -> None:
        self.data = bytearray(data)
        self.log: Log | None = None
        self.faulty: tuple[int, int] | None = None
        self.stalled, self.waits = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def load(self, data: bytes) -> None:
        """It holds this; what a guest has read of it before is not that any more."""
        with self._lock:
            self.data[:] = data

    def keep_log(self) -> Log:
        with self._lock:
            self.log = Log(bytes(self.data))
        return self.log

    def let_go(self) -> None:
        self.stalled.clear()
        self.waits.clear()

    def close(self) -> None:
        self.let_go()
        self._server.close()

    # -- the line ---------------------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return
            old, self._line = self._line, line
            if old:
                old.close()
            threading.Thread(target=self._speak, args=(line,), daemon=True).start()

    def _speak(self, line: socket.socket) -> None:
        """Whatever is no request of a kernel ends the line."""
        try:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                head = _exactly(line, 28)
                magic, flags, handle, at, length = struct.unpack(">II8sQI", head)
                kind = flags & 0xFFFF
                if magic != _REQUEST or kind == _DISCONNECT:
                    return
                if length > _LARGEST:
                    return
                data = _exactly(line, length) if kind == _WRITE else b""
                wrong = kind not in (_READ, _WRITE, _FLUSH)
                wrong = wrong or (kind != _FLUSH and at + length > FLASH)
                said = b"" if wrong else self._do(kind, at, length, data, bool(flags & 0x10000))
                line.sendall(struct.pack(">II8s", _REPLY, 22 if wrong else 0, handle) + said)
        except (OSError, EOFError):
            return
        finally:
            line.close()

    def _do(self, kind: int, at: int, length: int, data: bytes, through: bool) -> bytes:
        if kind == _WRITE and self.stalled.is_set():
            self.waits.set()
            while self.stalled.is_set():
                threading.Event().wait(0.05)
        with self._lock:
            if kind == _READ:
                return bytes(self.data[at : at + length])
            if kind == _WRITE:
                self.data[at : at + length] = data
                if self.faulty and at <= self.faulty[0] < at + length:
                    self.data[self.faulty[0]] = self.faulty[1]
                if self.log:
                    self.log.write(at, data, self.data)
            if self.log and (kind == _FLUSH or through):
                self.log.flush()
            return b""


def _exactly(line: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        piece = line.recv(count - len(found))
        if not piece:
            raise EOFError
        found += piece
    return bytes(found)

"""One TCP connection of a host of the bench: in order, one segment under way, repeated if lost."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchflow.bench.ethernet import ACK, FIN, PSH, RST, SYN, Segment

if TYPE_CHECKING:
    from hosts import Host

RECEIVED_MAX = 256 << 10
PIECE = 1200
AGAIN = 1.5
TRIES_MAX = 24  # then nothing is sent any more: who is gone is not knocked at for ever


class Stream:
    """`answer` serves: it is asked once, with all that has come, when that holds an empty line or a
    newline, and the stream then ends; without it what comes is collected."""

    def __init__(self, host: Host, address: str, port: int, peer: str, to: int, mac: str,
                 answer: Callable[[bytes], bytes] | None = None) -> None:  # fmt: skip
        self.host, self.address, self.port = host, address, port
        self.peer, self.to, self.mac = peer, to, mac
        self.answer = answer
        self.received = b""
        self.established = self.reset = self.ended = False
        self._next = secrets.randbelow(1 << 31)
        self._expected = 0
        self._waiting: list[tuple[int, bytes]] = []
        self._sent_at = 0.0
        self._under_way: Segment | None = None
        self._tries = 0

    # -- by the user ----------------------------------------------------------------------------

    def open(self) -> None:
        with self.host.cable.lock:
            self._queue(SYN, b"")

    def send(self, data: bytes) -> None:
        with self.host.cable.lock:
            for at in range(0, len(data), PIECE):
                self._queue(ACK | PSH, data[at : at + PIECE])

    def end(self) -> None:
        with self.host.cable.lock:
            self._queue(ACK | FIN, b"")

    def tick(self) -> None:
        """Send again what nobody has acknowledged."""
        with self.host.cable.lock:
            due = time.monotonic() - self._sent_at > AGAIN
            if self._under_way is not None and due and self._tries < TRIES_MAX:
                self._tries += 1
                self._put(self._under_way)

    @property
    def idle(self) -> bool:
        """Whether all that was sent has been acknowledged."""
        return self._under_way is None and not self._waiting

    # -- in the cable's thread ------------------------------------------------------------------

    def take(self, segment: Segment) -> None:
        if segment.flags & RST:
            self.reset = True
            self._under_way = None
            return
        if segment.flags & SYN:
            self._expected = (segment.sequence + 1) & 0xFFFFFFFF
            if not segment.flags & ACK and not self.established:
                self.established = True
                self._under_way = None
                self._queue(SYN | ACK, b"")
                return
            if not segment.flags & ACK:
                return
        self._acknowledge(segment)
        if segment.flags & SYN:
            self.established = True
            self._put(self._plain())
            return
        if segment.data or segment.flags & FIN:
            if segment.sequence == self._expected and len(self.received) < RECEIVED_MAX:
                self.received += segment.data
                self._expected += len(segment.data)
                if segment.flags & FIN:
                    self._expected += 1
                    self.ended = True
                self._expected &= 0xFFFFFFFF
            self._put(self._plain())
            self._serve()

    def _serve(self) -> None:
        if self.answer is not None and b"\n" in self.received:
            answer, self.answer = self.answer, None
            self.send(answer(self.received))
            self.end()

    def _acknowledge(self, segment: Segment) -> None:
        way = self._under_way
        if way is None or not segment.flags & ACK:
            return
        size = len(way.data) + bool(way.flags & (SYN | FIN))
        if segment.acknowledged == (way.sequence + size) & 0xFFFFFFFF:
            self._under_way = None
            self._next = segment.acknowledged
            if way.flags & SYN and not way.flags & ACK and not segment.flags & SYN:
                return
            self._push()

    def _queue(self, flags: int, data: bytes) -> None:
        self._waiting.append((flags, data))
        self._push()

    def _push(self) -> None:
        if self._under_way is None and self._waiting and not self.reset:
            flags, data = self._waiting.pop(0)
            known = 0 if flags == SYN else self._expected
            self._under_way = Segment(self.port, self.to, self._next, known, flags, data)
            self._tries = 0
            self._put(self._under_way)

    def _plain(self) -> Segment:
        return Segment(self.port, self.to, self._sequence(), self._expected, ACK)

    def _sequence(self) -> int:
        way = self._under_way
        if way is None:
            return self._next
        return (way.sequence + len(way.data) + bool(way.flags & (SYN | FIN))) & 0xFFFFFFFF

    def _put(self, segment: Segment) -> None:
        self._sent_at = time.monotonic()
        if segment.flags & ACK:
            segment = Segment(segment.port, segment.to, segment.sequence, self._expected,
                              segment.flags, segment.data)  # fmt: skip
        self.host.put(segment.pack(self.address, self.peer), self.mac)

"""One request over HTTP by a TCP of the verifier's own: it repeats what is lost, puts in order what
is not, and may have a small window, read slowly, and send its request in pieces."""

from __future__ import annotations

import re
import struct
import time

from benchflow.bench.ethernet import ACK, FIN, PSH, RST, SYN, TCP, Frame, summed

AGAIN = 0.7  # real seconds until what nobody acknowledged is sent again
RECEIVED_MAX = 400 << 10
HEAD = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
WORD = 0xFFFF_FFFF
OPTIONS = b"\2\4\5\xb4\4\2\1\1"  # segments of 1,460 bytes, selective acknowledgements
PLAIN = 536  # bytes of a segment, where nobody said more: RFC 9293, 3.7.1


class Fetch:
    """`request` in pieces of `piece` bytes. `window`: what it has room for at once. At `stall`
    bytes it reads nothing for `stalls` seconds, and says so. So many of its segments with data are
    first sent with a bit changed: `spoils`."""

    def __init__(self, peer, request: bytes, *, window: int = 2048, piece: int = 536,
                 stall: int = -1, stalls: float = 2.0, options: bool = False,
                 spoils: int = 0, port: int = 0) -> None:  # fmt: skip
        self.peer, self.window, self.piece = peer, window, piece
        self.port, self._stall, self._stalls = port or peer.fresh_port(), stall, stalls
        self.received, self.established = bytearray(), False
        self.reset = self.ended = self.over = False
        self.fault = ""
        self._options, self._spoils = OPTIONS if options else b"", spoils
        self._request, self._asked = request, 0  # bytes of it that were acknowledged
        self._start = peer.rng.getrandbits(32)
        self._base = 0  # number of the box's first byte
        self._early: dict[int, tuple[bytes, bool]] = {}
        self._sent_at, self._fin, self._stalled_until = 0.0, False, 0.0
        self._edge = window  # so far its numbers may reach, as the box was told
        self._peer_window, self._read = 1, 0
        peer.wire.takers.append(self._take)
        peer.wire.tickers.append(self._tick)
        self._put(SYN, self._start)

    @property
    def status(self) -> int:
        """What the reply says; 0 without one."""
        found = HEAD.match(self.received)
        return int(found[1]) if found else 0

    @property
    def body(self) -> bytes:
        """What lies behind the empty line."""
        return bytes(self.received).partition(b"\r\n\r\n")[2]

    @property
    def promised(self) -> int:
        """Its Content-Length, -1 without one."""
        head = bytes(self.received).partition(b"\r\n\r\n")[0]
        found = re.search(rb"\r\nContent-Length: *(\d+) *(\r\n|$)", head, re.IGNORECASE)
        return int(found[1][:9]) if found else -1

    def acknowledged(self, many: int) -> bool:
        """Whether the box has so many bytes of the request."""
        return self._asked >= many

    def goes_on(self, more: bytes) -> None:
        """The rest of a request that was begun."""
        self._request += more
        self._say()

    def disturb(self, flags: int, *, head: int = 5, ahead: int = 0, known: int = 0) -> None:
        """A segment of this connection that means nothing, with a right sum: a head of so many
        words, a number so far ahead, or an acknowledgement of what was not sent by so much."""
        body = struct.pack(
            ">HHIIBBHHH", self.port, 80, (self._next() + ahead) & WORD,
            (self._base + len(self.received) + known) & WORD, head << 4, flags, self.window, 0, 0,
        )  # fmt: skip
        body += b"GET / " if head > 5 else b""
        self.peer.put(TCP, summed(self.peer.host, self.peer.box, TCP, body, 16))

    def stop(self) -> None:
        """Ends a connection that has not ended, and neither hears nor says any more."""
        if self.established and not self.over and not self.reset:
            self._put(RST | ACK, self._next())
        self.vanish()

    def vanish(self) -> None:
        """Neither hears nor says any more."""
        if self._take in self.peer.wire.takers:
            self.peer.wire.takers.remove(self._take)
            self.peer.wire.tickers.remove(self._tick)

    # -- sending --------------------------------------------------------------------------------

    def _put(self, flags: int, sequence: int, data: bytes = b"") -> None:
        self._sent_at = time.monotonic()
        known = (self._base + len(self.received) + self.ended) & WORD if self.established else 0
        room = self._room()
        self._edge = max(self._edge, len(self.received) + room)
        body = struct.pack(
            ">HHIIBBHHH", self.port, 80, sequence & WORD, known, 0x50, flags, room, 0, 0
        )
        if flags & SYN and self._options:
            body = body[:12] + bytes([0x50 + (len(self._options) << 2)]) + body[13:] + self._options
        body = summed(self.peer.host, self.peer.box, TCP, body + data, 16)
        if data and self._spoils:
            self._spoils -= 1
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.peer.put(TCP, body)

    def _room(self) -> int:
        if not self._stalled_until:
            return self.window
        return max(0, self.window - len(self.received) + self._read)

    def _next(self) -> int:
        return self._start + 1 + self._asked

    def _say(self) -> None:
        """The next piece of the request, our own end behind all, or what we know."""
        left = self._request[self._asked :]
        if left:
            size = max(1, min(self.piece, self._peer_window))
            self._put(ACK | PSH, self._next(), left[:size])
        elif self.ended and not self._fin:
            self._put(ACK | FIN, self._next())
        else:
            self._put(ACK, self._next() + self._fin)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._stalled_until and now > self._stalled_until:
            self._stalled_until = 0.0
            self._say()
        due = now - self._sent_at > AGAIN
        if not due or self.over or self.reset:
            return
        if not self.established:
            self._put(SYN, self._start)
        elif self._asked < len(self._request) or (self.ended and not self._fin):
            self._say()

    # -- receiving ------------------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        packet = self.peer.packet(frame, TCP)
        if packet is None or len(packet.body) < 20:
            return
        body = packet.body
        port, to, sequence, known = struct.unpack(">HHII", body[:12])
        head, flags = (body[12] >> 4) * 4, body[13]
        if (port, to) != (80, self.port) or not 20 <= head <= len(body):
            return
        if flags & RST:
            self.reset = True
        elif flags & SYN:
            self._met(sequence, known, body)
        elif self.established:
            self._peer_window = int.from_bytes(body[14:16], "big")
            self._heard(sequence, known, flags, body[head:])

    def _met(self, sequence: int, known: int, body: bytes) -> None:
        if known != (self._start + 1) & WORD:
            return
        if not self.established:
            self.established, self._base = True, (sequence + 1) & WORD
            self._peer_window = int.from_bytes(body[14:16], "big")
        self._say()

    def _heard(self, sequence: int, known: int, flags: int, data: bytes) -> None:
        before = self._asked
        place = (known - self._start - 1) & WORD
        if self._asked < place <= len(self._request):
            self._asked = place
        if self.ended and place == len(self._request) + 1:
            self._fin = self.over = True
        if data or flags & FIN:
            self._data((sequence - self._base) & WORD, data, bool(flags & FIN))
            self._say()
        elif self._asked > before and self._asked < len(self._request):
            self._say()

    def _data(self, place: int, data: bytes, last: bool) -> None:
        if place >= 1 << 31:  # begins before the first byte: nothing there is ours
            return
        most = 1460 if self._options else PLAIN
        if len(data) > most and not self.fault:
            self.fault = f"a segment of {len(data)} bytes, where {most} are taken"
        beyond = place + len(data) - self._edge
        if beyond > (not self._room()) and not self.fault:  # a closed window may be tried by a byte
            self.fault = f"{beyond} bytes more than there is room for"
        if beyond > 0:
            return
        if len(self._early) < 500 and len(data) >= len(self._early.get(place, (b"",))[0]):
            self._early[place] = (data, last)
        self._in_order()
        if 0 <= self._stall <= len(self.received):
            self._read, self._stall = self._stall, -1
            self._stalled_until = time.monotonic() + self._stalls

    def _in_order(self) -> None:
        moved = True
        while moved and not self.ended:
            moved = False
            for at, (held, end) in sorted(self._early.items()):
                skip = len(self.received) - at
                if skip < 0:
                    break
                if skip <= len(held):
                    fresh = held[skip:]
                    moved = moved or bool(fresh)
                    self.received += fresh[: RECEIVED_MAX - len(self.received)]
                    self.ended = self.ended or end
                del self._early[at]

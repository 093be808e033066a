"""IPv4 on the cable of the other card: ARP, and a TCP server on a line that loses frames."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field

import draws

from benchflow.bench.ethernet import ACK, ARP, FIN, IPV4, PSH, RST, SYN, Arp, Frame, Packet, Segment

#: How often the first segment and the last are lost, and how many more of one in six; no more, as
#: a sender waits twice as long each time.
FIRST, LAST, MORE, OF = 2, 3, 4, 6
WHOLE = 1 << 32


@dataclass
class Call:
    """What came of one connection, and what it is answered at its end."""

    first: int
    next: int
    data: bytearray = field(default_factory=bytearray)
    over: bool = False
    left: list[int] = field(default_factory=lambda: [FIRST, LAST, MORE])


class Lossy:
    """Answers frames of IPv4 for `address`, whatever the guest's own one is."""

    def __init__(self, address: str, mac: str, rng: random.Random) -> None:
        self.address, self.mac, self.port = address, mac, rng.randrange(2000, 60_000)
        self._rng, self._calls, self._lock = rng, {}, threading.Lock()
        self.lost = 0

    def answers(self, frame: Frame) -> list[Frame]:
        if frame.kind == ARP:
            asked = Arp.read(frame.body)
            if asked is None or asked.operation != 1 or asked.target != self.address:
                return []
            said = Arp(2, self.mac, self.address, asked.mac, asked.address).pack()
            return [Frame(frame.source, self.mac, ARP, said)]
        packet = Packet.read(frame.body) if frame.kind == IPV4 else None
        segment = Segment.read(packet) if packet and packet.target == self.address else None
        if segment is None or segment.to != self.port:
            return []
        with self._lock:
            said = self._heard((packet.source, segment.port), segment)
        return [
            Frame(frame.source, self.mac, IPV4, one.pack(self.address, packet.source).pack())
            for one in said
        ]

    def _heard(self, who: tuple[str, int], came: Segment) -> list[Segment]:
        if came.flags & RST:
            self._calls.pop(who, None)
            return []
        if came.flags & SYN:
            call = self._calls[who] = Call(self._rng.randrange(WHOLE), (came.sequence + 1) % WHOLE)
            return [self._said(came, call, call.first, SYN | ACK)]
        call = self._calls.get(who)
        if call is None or not (came.data or came.flags & FIN):
            return []
        kind = 0 if not call.data and not call.over else 1 if came.flags & FIN else 2
        if call.left[kind] and (kind < 2 or self._rng.randrange(OF) == 0):
            call.left[kind] -= 1
            self.lost += 1
            return []
        if came.sequence == call.next and not call.over:
            call.data += came.data[: (4 << 20) - len(call.data)]
            call.next = (call.next + len(came.data)) % WHOLE
            if came.flags & FIN:
                call.next, call.over = (call.next + 1) % WHOLE, True
        if not call.over:
            return [self._said(came, call, (call.first + 1) % WHOLE, ACK)]
        answer = draws.total(bytes(call.data)).encode()
        return [self._said(came, call, (call.first + 1) % WHOLE, ACK | PSH | FIN, answer)]

    @staticmethod
    def _said(came: Segment, call: Call, at: int, flags: int, data: bytes = b"") -> Segment:
        return Segment(came.to, came.port, at, call.next, flags, data)

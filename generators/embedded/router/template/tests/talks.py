"""Connections that stay open, for what may or may not end them."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from wire import Host, mark, since

from benchflow.bench.ethernet import ACK, PSH, TCP, Packet, Segment, udp

if TYPE_CHECKING:
    from bench import Bench, Probe
    from wire import Seen


class Talk:
    """Opened by `host`, and answered by `other`; each says more by `says`."""

    def __init__(self, bench: Bench, host: Host, probe: Probe, there: tuple[Seen, Packet],
                 other: Host, token: bytes) -> None:  # fmt: skip
        self.bench, self.host, self.other = bench, host, other
        first, far = probe.packet, there[1]
        self.tcp = probe.protocol == "tcp"
        #: What each end calls itself and the other: addresses and ports.
        self.near = (first.source, *_ports(first)), first.target
        self.far = (far.target, *_ports(far)[::-1]), far.source
        self.macs = {True: there[0].frame.source, False: bench.router(host)}
        if self.tcp:
            mine = int.from_bytes(first.body[4:8], "big") + 1
            theirs = int.from_bytes(token[:4], "big") + 1
            self.next = {False: mine & 0xFFFFFFFF, True: theirs & 0xFFFFFFFF}
            self._put(False, ACK, b"")
            time.sleep(0.05)

    def _put(self, back: bool, flags: int, data: bytes) -> None:
        (own, here, there), target = self.far if back else self.near
        sender = self.other if back else self.host
        if self.tcp:
            segment = Segment(here, there, self.next[back], self.next[not back], flags, data)
            packet = segment.pack(own, target)
        else:
            packet = udp(own, here, target, there, data)
        sender.put(packet, self.macs[back])

    def says(self, back: bool = False, seconds: float = 20) -> bool:
        """Whether what one end says reaches the other, from whom it should come."""
        bench, token, place = self.bench, secrets.token_bytes(16), mark()
        (own, port, peer_port), peer = self.near if back else self.far
        receiver = self.host if back else self.other

        def found() -> bool:
            for one in since(place):
                packet = one.packet if one.net is receiver.net else None
                if packet and token in packet.body and packet.target == own:
                    return packet.source == peer and _ports(packet) == (peer_port, port)
            return False

        came = bench.again(lambda: self._put(back, ACK | PSH, token), found, seconds)
        if self.tcp:
            self.next[back] = (self.next[back] + len(token)) & 0xFFFFFFFF
        return came

    def ended(self, back: bool = False) -> bool:
        """Whether nothing of an end reaches the other, seen beside a ping that is answered."""
        token, place, bench = secrets.token_bytes(16), mark(), self.bench
        receiver = self.host if back else self.other
        sender = self.other if back else self.host
        (own, port, peer_port), peer = self.near if back else self.far
        for _ in range(2):
            self._put(back, ACK | PSH, token)
            bench.behind(sender)
        return not any(
            one.net is receiver.net and (p := one.packet) and token in p.body
            and (p.target, p.source, *_ports(p)) == (own, peer, peer_port, port)
            for one in since(place)
        )  # fmt: skip

    def ends(self, back: bool = False, seconds: float = 30) -> bool:
        """`ended`, at last."""
        deadline = self.bench.station.machine.deadline(seconds)
        while not self.ended(back):
            if deadline.remaining() <= 0:
                return False
            time.sleep(0.3)
        return True


def _ports(packet: Packet) -> tuple[int, int]:
    assert packet.protocol == TCP or len(packet.body) >= 4
    return int.from_bytes(packet.body[:2], "big"), int.from_bytes(packet.body[2:4], "big")

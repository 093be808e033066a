"""The network that the verifier plays: every frame of the box's, and what becomes of it on the way.

A thread takes frames in, so that none is lost in a full queue; all else happens in `run`, in the
thread of the check. `loss`, `twice` and `late` are shares of frames, in both directions.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush

from benchflow.bench.ethernet import (
    ARP,
    ICMP,
    IPV4,
    TCP,
    UDP,
    Arp,
    Frame,
    Packet,
    checksum,
    ip_bytes,
)
from benchflow.boot.machine.nics import lan

KEPT = 20_000
FRAME_MAX = 2048
APART = 0.001  # seconds from frame to frame: ten that wait fill a queue, and the next is lost
LATEST = 0.3  # seconds that a late frame takes
FAULTS = 10


class Moment:
    """So many real seconds from now: a guest's own clock runs on while it waits for a processor."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        return max(0.0, self._end - time.monotonic())


class Wire:
    """A place on a LAN. `faults` are frames of the box's that must never be on it."""

    def __init__(self, name: str, box: str, rng: random.Random) -> None:
        self.box, self._rng = box, random.Random(rng.random())
        self.loss = self.twice = self.late = 0.0
        self.allowed: set[str] = set()  # addresses that the box may use
        self.faults: list[str] = []
        self.takers: list[Callable[[Frame], None]] = []
        self.tickers: list[Callable[[], None]] = []
        self._arrived: deque[bytes] = deque(maxlen=KEPT)
        self._held: list[tuple[float, int, bool, bytes]] = []
        self._sent_at, self._number, self._open = 0.0, 0, True
        self._socket: socket.socket = lan(name).attach()
        self._socket.settimeout(0.5)
        threading.Thread(target=self._collect, daemon=True).start()

    def close(self) -> None:
        self._open = False

    def send(self, frame: Frame) -> None:
        """To the box, as the line is now."""
        self._pass(False, frame.pack())

    def send_bytes(self, frame: bytes) -> None:
        """To the box, whatever it is, and never lost by us."""
        time.sleep(max(0.0, min(APART, self._sent_at + APART - time.monotonic())))
        self._sent_at = time.monotonic()
        try:
            self._socket.send(frame)
        except OSError:
            return  # a full queue loses frames, as a real hub does

    def run(self, found: Callable[[], object], deadline) -> bool:
        """Whether something came true before the deadline."""
        while True:
            self._work()
            if found():
                return True
            if deadline.remaining() <= 0:
                return False
            if not self._arrived:
                time.sleep(0.005)

    def _work(self) -> None:
        for _ in range(len(self._arrived)):
            self._pass(True, self._arrived.popleft())
        while self._held and self._held[0][0] <= time.monotonic():
            _, _, inwards, frame = heappop(self._held)
            self._deliver(inwards, frame)
        for tick in list(self.tickers):
            tick()

    def _collect(self) -> None:
        while self._open:
            try:
                self._arrived.append(self._socket.recv(65536)[:FRAME_MAX])
            except TimeoutError:
                continue
            except OSError:
                break
        self._socket.close()

    def _pass(self, inwards: bool, frame: bytes) -> None:
        if self._rng.random() < self.loss:
            return
        for _ in range(2 if self._rng.random() < self.twice else 1):
            if self._rng.random() < self.late:
                self._number += 1
                when = time.monotonic() + self._rng.uniform(0.01, LATEST)
                heappush(self._held, (when, self._number, inwards, frame))
            else:
                self._deliver(inwards, frame)

    def _deliver(self, inwards: bool, data: bytes) -> None:
        if not inwards:
            self.send_bytes(data)
            return
        frame = Frame.read(data)
        if frame is None:
            return
        if (why := self._wrong(frame)) and len(self.faults) < FAULTS:
            self.faults.append(f"{why}: {frame.kind:04x} {frame.body[:40].hex()}")
        for taker in self.takers:
            taker(frame)

    def _wrong(self, frame: Frame) -> str:
        """Why the box may not have sent this; "" where it may."""
        if frame.source != self.box:
            return f"from {frame.source}"
        if frame.kind == ARP:
            said = Arp.read(frame.body)
            free = said is not None and said.address in self.allowed | {"0.0.0.0"}
            return "" if free else "ARP for an address that it has not"
        if frame.kind != IPV4:
            return "neither ARP nor IPv4"
        packet = Packet.read(frame.body)
        if packet is None:
            return "no whole IPv4 packet with a right sum"
        if packet.source not in self.allowed and not (packet.source == "0.0.0.0" and dhcp(packet)):
            return f"from {packet.source}, which it has not"
        if not packet.ttl or (packet.ttl < 2 and not dhcp(packet)):
            return f"{packet.ttl} hops to go, which end at a router"
        return "" if right_sum(packet) else "a wrong sum"


def without_sum(packet: Packet) -> Packet:
    """A datagram with no checksum (RFC 768: zero)."""
    return replace(packet, body=packet.body[:6] + b"\0\0" + packet.body[8:])


def dhcp(packet: Packet) -> bool:
    """Whether it is for a DHCP server."""
    return packet.protocol == UDP and packet.body[:4] == b"\0\x44\0\x43"


def right_sum(packet: Packet) -> bool:
    """The sum of what the packet carries; UDP may do without."""
    body = packet.body
    if packet.protocol == ICMP:
        return checksum(body) == 0
    if packet.protocol not in (TCP, UDP) or (packet.protocol == UDP and body[6:8] == b"\0\0"):
        return True
    pseudo = ip_bytes(packet.source) + ip_bytes(packet.target)
    return checksum(pseudo + bytes([0, packet.protocol]) + len(body).to_bytes(2, "big") + body) == 0

"""The DHCP server of the box's network, which can be silent, refuse, and have strangers talk."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

from wire import FAULTS, Wire, without_sum

from benchflow.bench.dhcp_message import (
    ACK,
    ADDRESS,
    DISCOVER,
    DNS,
    KIND,
    LEASE,
    MASK,
    NAK,
    OFFER,
    REQUEST,
    ROUTER,
    SERVER,
    DhcpMessage,
)
from benchflow.bench.ethernet import BROADCAST, IPV4, Frame, Packet, ip_bytes, read_udp, udp

MOST = 5000


def neighbour(mac: str, bit: int) -> str:
    """Another MAC, which differs in one bit of 48."""
    number = int(mac.replace(":", ""), 16) ^ 1 << bit
    return number.to_bytes(6, "big").hex(":")


def has_an_end(data: bytes) -> bool:
    """Whether the options end as RFC 2131 wants it, with 255."""
    at = 240
    while at < len(data) and data[at] != 255:
        at += 1 if not data[at] else 2 + data[at + 1] if at + 1 < len(data) else len(data)
    return at < len(data)


@dataclass(frozen=True)
class Heard:
    """A message of the box's: when, what it said, from which address and to which MAC."""

    at: float
    message: DhcpMessage
    source: str

    @property
    def wanted(self) -> str:
        asked = self.message.addresses(ADDRESS)
        return asked[0] if asked else self.message.current


@dataclass
class Server:
    """`deaf`: so many of the next messages are not heard. `refuses`: so many requests get a NAK."""

    wire: Wire
    own: str
    mac: str
    offers: str
    seconds: int = 86_400
    deaf: int = 0
    refuses: int = 0
    quits: bool = False  # it is silent once it has refused
    refused: int = 0  # how many messages were heard when it refused last
    silent: bool = False
    strangers: bool = False
    heard: list[Heard] = field(default_factory=list)
    leased_at: float = 0.0  # when the last acknowledgement was sent

    def __post_init__(self) -> None:
        self.wire.takers.append(self._take)

    def of_kind(self, kind: int, mark: int = 0) -> list[Heard]:
        """What was heard of a kind since a mark."""
        return [one for one in self.heard[mark:] if one.message.kind == kind]

    def _take(self, frame: Frame) -> None:
        packet = Packet.read(frame.body) if frame.kind == IPV4 else None
        datagram = read_udp(packet) if packet else None
        if packet is None or datagram is None or datagram[1] != 67 or len(self.heard) > MOST:
            return
        message = DhcpMessage.read(datagram[2])
        if message is None or message.operation != 1 or message.mac != self.wire.box:
            return
        if not has_an_end(datagram[2]) and len(self.wire.faults) < FAULTS:
            self.wire.faults.append("a DHCP message whose options have no end (255)")
        self.heard.append(Heard(time.monotonic(), message, packet.source))
        if self.deaf > 0:
            self.deaf -= 1
        elif not self.silent:
            self._answer(message)

    def _answer(self, message: DhcpMessage) -> None:
        if message.kind == DISCOVER:
            if self.strangers:
                self._strangers(message)
            self._say(message, OFFER)
        elif message.kind == REQUEST:
            if self.strangers:
                self._strangers(message)
            servers = message.addresses(SERVER)
            if servers and servers != [self.own]:
                return
            if self.refuses > 0:
                self.refuses -= 1
                self.refused = len(self.heard)
                self._say(message, NAK)
                self.silent = self.silent or self.quits
            elif self.heard[-1].wanted == self.offers:
                self.wire.allowed.add(self.offers)
                self.leased_at = time.monotonic()
                self._say(message, ACK)
            else:
                self._say(message, NAK)

    def _strangers(self, message: DhcpMessage) -> None:
        """What is for others, or for nobody: none of it gives the box an address."""
        other, draw = self.own.rsplit(".", 1)[0] + ".199", secrets.SystemRandom()
        wrong = [(message.number, message.mac, 1)]
        wrong += [(message.number ^ 1 << bit, message.mac, 2) for bit in draw.sample(range(32), 3)]
        wrong += [
            (message.number, neighbour(message.mac, bit), 2) for bit in draw.sample(range(48), 3)
        ]
        kinds = (OFFER, ACK) if message.kind == DISCOVER else (ACK, NAK)
        for number, mac, operation in wrong:
            for kind in kinds:
                self._send(
                    DhcpMessage(operation, number, mac, other, "0.0.0.0", self._options(kind))
                )

    def _options(self, kind: int) -> dict[int, bytes]:
        options = {KIND: bytes([kind]), SERVER: ip_bytes(self.own)}
        if kind != NAK:
            options |= {
                MASK: ip_bytes("255.255.255.0"), ROUTER: ip_bytes(self.own),
                DNS: ip_bytes(self.own) * 2, LEASE: self.seconds.to_bytes(4, "big"),
            }  # fmt: skip
        return options

    def _say(self, asked: DhcpMessage, kind: int) -> None:
        yours = self.offers if kind != NAK else "0.0.0.0"
        options = self._options(kind)
        self._send(DhcpMessage(2, asked.number, asked.mac, yours, "0.0.0.0", options))

    def _send(self, message: DhcpMessage) -> None:
        packet = udp(self.own, 67, "255.255.255.255", 68, message.pack())
        if secrets.randbits(1):
            packet = without_sum(packet)
        self.wire.send(Frame(BROADCAST, self.mac, IPV4, packet.pack()))

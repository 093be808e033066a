"""The DHCP server of the box's network, which can be silent, refuse, and have strangers talk."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from wire import Wire

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


def neighbour(mac: str) -> str:
    """Another MAC, which differs in its last bit."""
    return f"{mac[:-2]}{int(mac[-2:], 16) ^ 1:02x}"


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
            servers = message.addresses(SERVER)
            if servers and servers != [self.own]:
                return
            if self.refuses > 0:
                self.refuses -= 1
                self._say(message, NAK)
            elif self.heard[-1].wanted == self.offers:
                self.wire.allowed.add(self.offers)
                self.leased_at = time.monotonic()
                self._say(message, ACK)
            else:
                self._say(message, NAK)

    def _strangers(self, message: DhcpMessage) -> None:
        """What is for others, or for nobody: none of it gives the box an address."""
        other, last = self.own.rsplit(".", 1)[0] + ".199", neighbour(message.mac)
        for number, mac, operation in (
            (message.number ^ 0x0101_0101, message.mac, 2), (message.number, last, 2),
            (message.number, message.mac, 1),
        ):  # fmt: skip
            for kind in (OFFER, ACK):
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
        self.wire.send(Frame(BROADCAST, self.mac, IPV4, packet.pack()))

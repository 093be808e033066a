"""DHCP (RFC 2131) from both ends: clients on the local side, the carrier's server on the other."""

from __future__ import annotations

import secrets

from hosts import Cable, Host

from benchflow.bench.dhcp_message import (
    ACK,
    ADDRESS,
    DISCOVER,
    DNS,
    DOMAIN,
    KIND,
    LEASE,
    MASK,
    NAK,
    NAME,
    OFFER,
    REQUEST,
    ROUTER,
    SERVER,
    WANTED,
    DhcpMessage,
)
from benchflow.bench.ethernet import (
    BROADCAST,
    IPV4,
    Frame,
    Packet,
    ip_bytes,
    read_udp,
    udp,
)

IDENT = 61  # the client's own identifier (RFC 2132, 9.14)


def in_frame(frame: Frame, port: int) -> tuple[Packet, DhcpMessage] | None:
    """The DHCP message to `port` in a frame, if it is one."""
    packet = Packet.read(frame.body) if frame.kind == IPV4 else None
    datagram = read_udp(packet) if packet else None
    if packet is None or datagram is None or datagram[1] != port:
        return None
    message = DhcpMessage.read(datagram[2])
    return (packet, message) if message else None


class Client:
    """A client of the local side; `ask` sends, the answer is found in what the cable has seen."""

    def __init__(self, cable: Cable, mac: str) -> None:
        self.cable, self.mac = cable, mac

    def ask(self, kind: int, **how) -> int:
        """Send a message by broadcast; returns its number. `address`, `server`, `name`, `ident`."""
        number = secrets.randbelow(1 << 31)
        options = {KIND: bytes([kind])}
        if how.get("address"):
            options[ADDRESS] = ip_bytes(how["address"])
        if how.get("server"):
            options[SERVER] = ip_bytes(how["server"])
        if how.get("name"):
            options[NAME] = how["name"].encode()
        if how.get("ident"):
            options[IDENT] = how["ident"]
        options[WANTED] = bytes([MASK, ROUTER, DNS, DOMAIN, LEASE])
        message = DhcpMessage(1, number, self.mac, "0.0.0.0", "0.0.0.0", options)
        packet = udp("0.0.0.0", 68, "255.255.255.255", 67, message.pack())
        self.cable.send(Frame(BROADCAST, self.mac, IPV4, packet.pack()))
        return number

    def renew(self, address: str, server: str, server_mac: str) -> int:
        """Ask the server alone for more time for the address that one has; returns the number."""
        number = secrets.randbelow(1 << 31)
        options = {KIND: bytes([REQUEST]), WANTED: bytes([MASK, ROUTER, DNS, DOMAIN, LEASE])}
        message = DhcpMessage(1, number, self.mac, "0.0.0.0", address, options)
        packet = udp(address, 68, server, 67, message.pack())
        self.cable.send(Frame(server_mac, self.mac, IPV4, packet.pack()))
        return number

    def answers(self, number: int, mark: int) -> list[DhcpMessage]:
        found = [in_frame(frame, 68) for frame in self.cable.since(mark)]
        return [
            message for _, message in filter(None, found)
            if message.operation == 2 and message.number == number and message.mac == self.mac
        ]  # fmt: skip


class Carrier:
    """The carrier's DHCP server on the other side: `host` is its router. Silent until `offers`."""

    def __init__(self, host: Host, extra: dict[int, bytes] | None = None) -> None:
        self.host = host
        self.offers = ""
        self.bits = host.bits
        self.router = host.address
        self.names: list[str] = []
        self.seconds = 86400
        self.extra = extra or {}
        self.asked: list[tuple[int, str]] = []
        host.cable.watchers.append(self._watch)

    def _watch(self, frame: Frame) -> None:
        found = in_frame(frame, 67)
        if found is None or len(self.asked) > 5000:
            return
        message = found[1]
        wanted = message.addresses(ADDRESS)
        self.asked.append((message.kind, wanted[0] if wanted else message.current))
        if not self.offers:
            return
        if message.kind == DISCOVER:
            self._answer(frame, message, OFFER)
        elif message.kind == REQUEST:
            fits = (wanted[0] if wanted else message.current) == self.offers
            self._answer(frame, message, ACK if fits else NAK)

    def _answer(self, frame: Frame, asked: DhcpMessage, kind: int) -> None:
        own = self.router if self.router else self.host.address
        options = {KIND: bytes([kind]), SERVER: ip_bytes(own)}
        if kind != NAK:
            mask = (0xFFFFFFFF << (32 - self.bits)) & 0xFFFFFFFF
            options |= {
                LEASE: self.seconds.to_bytes(4, "big"), MASK: mask.to_bytes(4, "big"),
                ROUTER: ip_bytes(self.router), DNS: b"".join(map(ip_bytes, self.names)),
            }  # fmt: skip
            options |= self.extra
        yours = self.offers if kind != NAK else "0.0.0.0"
        message = DhcpMessage(2, asked.number, asked.mac, yours, "0.0.0.0", options)
        packet = udp(own, 67, "255.255.255.255", 68, message.pack())
        self.host.cable.send(Frame(frame.source, self.host.mac, IPV4, packet.pack()))

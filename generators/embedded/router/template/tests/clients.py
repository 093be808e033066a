"""Clients of the router's DHCP on the site's networks."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from wire import Net, mark, since

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
    NTP,
    OFFER,
    REQUEST,
    ROUTER,
    SERVER,
    WANTED,
    DhcpMessage,
)
from benchflow.bench.ethernet import BROADCAST, IPV4, Frame, ip_bytes, read_udp, udp

if TYPE_CHECKING:
    from bench import Bench


class Client:
    """A card without an address."""

    def __init__(self, bench: Bench, net: Net, mac: str) -> None:
        self.bench, self.net, self.mac = bench, net, mac

    def send(self, kind: int, address: str = "", server: str = "", name: str = "",
             wanted: tuple[int, ...] = ()) -> int:  # fmt: skip
        """Send a message by broadcast; its number."""
        number = secrets.randbits(31)
        options = {KIND: bytes([kind])}
        options |= {ADDRESS: ip_bytes(address)} if address else {}
        options |= {SERVER: ip_bytes(server)} if server else {}
        options |= {NAME: name.encode()} if name else {}
        options[WANTED] = bytes([MASK, ROUTER, DNS, DOMAIN, LEASE, NTP, *wanted])
        message = DhcpMessage(1, number, self.mac, "0.0.0.0", "0.0.0.0", options)
        packet = udp("0.0.0.0", 68, "255.255.255.255", 67, message.pack())
        self.net.send(Frame(BROADCAST, self.mac, IPV4, packet.pack()))
        return number

    def ask(self, kind: int, kinds: tuple[int, ...], seconds: float, **how) -> DhcpMessage | None:
        """A message, again and again until one of these kinds of answer comes."""
        place, numbers, got = mark(), set(), []

        def found() -> bool:
            for one in since(place):
                if one.net is not self.net or not (packet := one.packet):
                    continue
                data = read_udp(packet)
                said = DhcpMessage.read(data[2]) if data and data[1] == 68 else None
                if said and said.operation == 2 and said.number in numbers and said.kind in kinds:
                    got.append(said)
            return bool(got)

        self.bench.again(lambda: numbers.add(self.send(kind, **how)), found, seconds, 4)
        return got[0] if got else None

    def lease(self, seconds: float, **how) -> DhcpMessage | None:
        offer = self.ask(DISCOVER, (OFFER,), seconds, **how)
        if offer is None:
            return None
        servers = offer.addresses(SERVER)
        assert servers, "a DHCP offer names no server"
        how |= {"address": offer.yours, "server": servers[0]}
        said = self.ask(REQUEST, (ACK, NAK), seconds, **how)
        assert said and said.kind == ACK, f"the offered {offer.yours} was answered by {said}"
        assert said.yours == offer.yours, f"{offer.yours} was offered, and {said.yours} given"
        return said

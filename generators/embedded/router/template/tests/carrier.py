"""The carrier: its DHCP, its gateway to the world, and its name servers."""

from __future__ import annotations

import ipaddress
import random
import struct

from ordered import AXES, has
from wire import NEWS, Host, Net

from benchflow.bench.dhcp_message import (
    ACK,
    ADDRESS,
    DISCOVER,
    DNS,
    KIND,
    LEASE,
    MASK,
    NAK,
    NAME,
    OFFER,
    REQUEST,
    ROUTER,
    SERVER,
    DhcpMessage,
)
from benchflow.bench.ethernet import IPV4, Frame, Packet, drawn_mac, ip_bytes, udp

CLASS, IDENTIFIER = 60, 61
#: Seconds: so a changed mind of the carrier's is heard soon.
LEASED = 30


class Carrier:
    """`gives` is the address that it gives; `knows` its names; `asked` what was asked for."""

    def __init__(self, net: Net, draw: random.Random) -> None:
        self.net, self.draw = net, draw
        self.range = ipaddress.ip_network(
            f"100.{draw.randrange(64, 127)}.{draw.randrange(250)}.0/24"
        )
        self.gateway = Host(net, drawn_mac(), str(self.range[draw.choice((1, 254))]), True)
        if has("far-gateway"):
            self.gateway.address = f"100.{draw.randrange(64, 127)}.251.{draw.randrange(2, 250)}"
        self.server = self.gateway.address
        self.gives = self.another()
        self.names = [f"198.18.{draw.randrange(256)}.{draw.randrange(1, 255)}" for _ in range(2)]
        self.records: dict[str, str] = {}
        self.other: dict[str, str] = {}
        self.asked: list[tuple[str, str, int]] = []
        """(name server, name, kind) of each question."""
        self.silent = False
        self.wrong = ""
        """Why the last client was not served."""
        self.acknowledged = ""
        self.gateway.serve[67] = self._unicast
        self.gateway.serve[53] = self._named
        net.hosts.append(self)  # type: ignore[arg-type]

    def another(self) -> str:
        """An address of its range that it has not given last."""
        last = getattr(self, "gives", "")
        while True:
            one = str(self.range[self.draw.randrange(10, 240)])
            if one != last and one != self.gateway.address:
                return one

    # -- addresses --------------------------------------------------------------------------------

    def take(self, frame: Frame) -> None:
        """Broadcasts: what comes to the server's address comes through the gateway's host."""
        packet = Packet.read(frame.body) if frame.kind == IPV4 else None
        if packet and packet.target == "255.255.255.255" and packet.body[2:4] == b"\0\x43":
            self._message(packet.body[8:], packet.source)

    def _unicast(self, packet: Packet, port: int, data: bytes) -> None:
        if packet.target == self.server:
            self._message(data, packet.source)

    def _refused(self, asked: DhcpMessage) -> str:
        """Why this client is none of the carrier's."""
        options = asked.options
        if has("carrier-class") and options.get(CLASS) != AXES["carrier_class"].encode():
            return f"option 60 is {options.get(CLASS)!r}"
        wanted = bytes.fromhex(AXES["carrier_identifier"])
        if has("carrier-identifier") and options.get(IDENTIFIER) != wanted:
            return f"option 61 is {options.get(IDENTIFIER)!r}"
        if has("carrier-host") and options.get(NAME) != AXES["carrier_host"].encode():
            return f"option 12 is {options.get(NAME)!r}"
        if has("carrier-mac") and asked.mac != AXES["carrier_mac"]:
            return f"the client is {asked.mac}"
        return ""

    def _message(self, data: bytes, source: str) -> None:
        asked = DhcpMessage.read(data)
        if asked is None or asked.operation != 1 or self.silent:
            return
        self.wrong = self._refused(asked)
        if self.wrong:
            return
        if asked.kind == DISCOVER:
            self._answer(asked, OFFER)
        elif asked.kind == REQUEST:
            if asked.options.get(SERVER) not in (None, ip_bytes(self.server)):
                return
            wanted = (asked.addresses(ADDRESS) or [asked.current])[0]
            self._answer(asked, ACK if wanted == self.gives else NAK)
            if wanted == self.gives:
                self.acknowledged = wanted

    def _answer(self, asked: DhcpMessage, kind: int) -> None:
        options = {KIND: bytes([kind]), SERVER: ip_bytes(self.server)}
        if kind != NAK:
            mask = b"\xff" * 4 if has("far-gateway") else self.range.netmask.packed
            options |= {
                LEASE: LEASED.to_bytes(4, "big"), MASK: mask,
                ROUTER: ip_bytes(self.gateway.address), DNS: b"".join(map(ip_bytes, self.names)),
            }  # fmt: skip
        yours = "0.0.0.0" if kind == NAK else self.gives
        message = DhcpMessage(2, asked.number, asked.mac, yours, "0.0.0.0", options)
        # A client without an address takes broadcasts alone.
        target, mac = ("255.255.255.255", "ff:ff:ff:ff:ff:ff")
        if asked.current != "0.0.0.0" and kind == ACK:
            target, mac = asked.current, asked.mac
        packet = udp(self.server, 67, target, 68, message.pack())
        self.net.send(Frame(mac, self.gateway.mac, IPV4, packet.pack()))

    # -- names ------------------------------------------------------------------------------------

    def _named(self, packet: Packet, port: int, data: bytes) -> bytes | None:
        question = read_question(data)
        if question is None:
            return None
        number, name, kind = question
        if len(self.asked) < 5000:
            self.asked.append((packet.target, name, kind))
        if packet.target in self.names:
            found = self.records
        elif packet.target == AXES["other_server"]:
            found = self.other
        else:
            return None  # nobody serves names there
        return answer(number, name, kind, found.get(name) if kind == 1 else None, name in found)

    def asked_since(self, place: int) -> list[tuple[str, str, int]]:
        with NEWS:
            return self.asked[place:]


# -- DNS as bytes ---------------------------------------------------------------------------------


def question(number: int, name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
    return (
        struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0)
        + labels
        + struct.pack(">BHH", 0, kind, 1)
    )


def read_name(data: bytes, at: int) -> tuple[str, int] | None:
    """A name at a place, with links followed, and what comes behind it."""
    labels: list[str] = []
    end, jumps = 0, 0
    while at < len(data):
        size = data[at]
        if size >= 0xC0:
            if at + 1 >= len(data) or jumps > 20:
                return None
            end = end or at + 2
            at, jumps = ((size & 0x3F) << 8) | data[at + 1], jumps + 1
            continue
        if size > 63 or at + 1 + size > len(data) or len(labels) > 60:
            return None
        if size == 0:
            return ".".join(labels).lower(), end or at + 1
        labels.append(data[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += 1 + size
    return None


def read_question(data: bytes) -> tuple[int, str, int] | None:
    """(number, name, kind)."""
    if len(data) < 17 or data[2] & 0x80:
        return None
    found = read_name(data, 12)
    if found is None or found[1] + 4 > len(data):
        return None
    return (
        int.from_bytes(data[:2], "big"),
        found[0],
        int.from_bytes(data[found[1] : found[1] + 2], "big"),
    )


def answer(number: int, name: str, kind: int, address: str | None, known: bool) -> bytes:
    """What a name server says: an address, nothing of this kind, or that there is no such name."""
    code = 0x8180 if known else 0x8183
    head = struct.pack(">HHHHHH", number, code, 1, 1 if address else 0, 0, 0)
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".") if p)
    text = head + labels + struct.pack(">BHH", 0, kind, 1)
    if address:
        text += struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + ip_bytes(address)
    return text


def read_answer(data: bytes, number: int) -> tuple[int, list[str]] | None:
    """(code, addresses and names) of an answer to question `number`."""
    if len(data) < 12 or int.from_bytes(data[:2], "big") != number or not data[2] & 0x80:
        return None
    asked, answers = struct.unpack(">HH", data[4:8])
    at, said = 12, []
    for _ in range(min(asked, 4)):
        found = read_name(data, at)
        if found is None:
            return None
        at = found[1] + 4
    for _ in range(min(answers, 40)):
        found = read_name(data, at)
        if found is None or found[1] + 10 > len(data):
            return None
        kind, _, _, size = struct.unpack(">HHIH", data[found[1] : found[1] + 10])
        body = found[1] + 10
        if kind == 1 and size == 4 and body + 4 <= len(data):
            said.append(str(ipaddress.ip_address(data[body : body + 4])))
        elif kind in (5, 12):
            name = read_name(data, body)
            said += [name[0]] if name and kind == 12 else []
        at = body + size
    return data[3] & 15, said

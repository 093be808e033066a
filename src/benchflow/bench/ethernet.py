"""Ethernet, ARP, IPv4, IPv6, ICMP, UDP and TCP as bytes: made and read, no opinion on them.

What is read comes from a hostile guest: whatever is cut off or inconsistent is None.
"""

from __future__ import annotations

import ipaddress
import secrets
import struct
from dataclasses import dataclass

BROADCAST = "ff:ff:ff:ff:ff:ff"
ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def mac_bytes(text: str) -> bytes:
    """Six bytes of a MAC with colons."""
    return bytes.fromhex(text.replace(":", ""))


def mac_text(data: bytes) -> str:
    """A MAC with colons."""
    return data.hex(":")


def ip_bytes(text: str) -> bytes:
    """An IPv4 address as four bytes, an IPv6 address as sixteen."""
    return ipaddress.ip_address(text).packed


def ip_text(data: bytes) -> str:
    """Four or sixteen bytes as an address."""
    return str(ipaddress.ip_address(data))


def drawn_mac() -> str:
    """A MAC that no rule of a guest's can be about: one of QEMU's, drawn."""
    return f"52:54:00:{secrets.token_bytes(3).hex(':')}"


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass(frozen=True)
class Frame:
    """What lies behind an Ethernet header."""

    target: str
    source: str
    kind: int
    body: bytes

    @classmethod
    def read(cls, data: bytes) -> Frame | None:
        """None for what is shorter than a header."""
        if len(data) < 14:
            return None
        return cls(
            mac_text(data[:6]), mac_text(data[6:12]), int.from_bytes(data[12:14], "big"), data[14:]
        )

    def pack(self) -> bytes:
        """The frame, filled up to the least length of one."""
        head = mac_bytes(self.target) + mac_bytes(self.source) + struct.pack(">H", self.kind)
        return (head + self.body).ljust(60, b"\0")


@dataclass(frozen=True)
class Arp:
    """An ARP message: `operation` is 1 for a question and 2 for an answer."""

    operation: int
    mac: str
    address: str
    target_mac: str
    target: str

    @classmethod
    def read(cls, data: bytes) -> Arp | None:
        """None for anything but Ethernet and IPv4."""
        if len(data) < 28 or data[:6] != b"\0\1\x08\0\x06\x04":
            return None
        return cls(
            int.from_bytes(data[6:8], "big"), mac_text(data[8:14]), ip_text(data[14:18]),
            mac_text(data[18:24]), ip_text(data[24:28]),
        )  # fmt: skip

    def pack(self) -> bytes:
        """The body of its frame."""
        head = b"\0\1\x08\0\x06\x04" + struct.pack(">H", self.operation)
        return (
            head + mac_bytes(self.mac) + ip_bytes(self.address)
            + mac_bytes(self.target_mac) + ip_bytes(self.target)
        )  # fmt: skip


@dataclass(frozen=True)
class Packet:
    """An IPv4 packet without fragments."""

    source: str
    target: str
    protocol: int
    body: bytes
    ttl: int = 64
    dont_fragment: bool = False

    @classmethod
    def read(cls, data: bytes, whole: bool = True) -> Packet | None:
        """`whole=False` for what an ICMP error quotes: its end may be missing."""
        if len(data) < 20 or data[0] >> 4 != 4:
            return None
        head, size = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
        if head < 20 or size < head or (whole and (size > len(data) or checksum(data[:head]))):
            return None
        flags = int.from_bytes(data[6:8], "big")
        if flags & 0x3FFF:
            return None
        return cls(
            ip_text(data[12:16]), ip_text(data[16:20]), data[9], data[head:size], data[8],
            bool(flags & 0x4000),
        )  # fmt: skip

    def pack(self) -> bytes:
        """The body of its frame, its own checksum included."""
        flags = 0x4000 if self.dont_fragment else 0
        head = struct.pack(
            ">BBHHHBBH", 0x45, 0, 20 + len(self.body), 1, flags, self.ttl, self.protocol, 0
        )
        addresses = ip_bytes(self.source) + ip_bytes(self.target)
        total = checksum(head + addresses)
        return head[:10] + struct.pack(">H", total) + addresses + self.body


def summed(source: str, target: str, protocol: int, body: bytes, at: int) -> bytes:
    """`body` of UDP, TCP or ICMPv6 with its checksum at `at`, for addresses of either family."""
    here, there = ip_bytes(source), ip_bytes(target)
    if len(here) == 4:
        pseudo = here + there + struct.pack(">BBH", 0, protocol, len(body))
    else:
        pseudo = here + there + struct.pack(">II", len(body), protocol)
    return body[:at] + struct.pack(">H", checksum(pseudo + body) or 0xFFFF) + body[at + 2 :]


def ip_packet(
    source: str, target: str, protocol: int, body: bytes, *, hops: int = 64
) -> tuple[int, bytes]:
    """(kind of frame, packet) for addresses of either family."""
    if ":" not in source:
        return IPV4, Packet(source, target, protocol, body, hops, dont_fragment=True).pack()
    head = struct.pack(">IHBB", 6 << 28, len(body), protocol, hops)
    return IPV6, head + ip_bytes(source) + ip_bytes(target) + body


def udp(source: str, port: int, target: str, to: int, data: bytes, ttl: int = 64) -> Packet:
    """A datagram over IPv4."""
    body = struct.pack(">HHHH", port, to, 8 + len(data), 0) + data
    return Packet(source, target, UDP, summed(source, target, UDP, body, 6), ttl)


def read_udp(packet: Packet) -> tuple[int, int, bytes] | None:
    """(source port, target port, data)."""
    if packet.protocol != UDP or len(packet.body) < 8:
        return None
    port, to, size, _ = struct.unpack(">HHHH", packet.body[:8])
    if not 8 <= size <= len(packet.body):
        return None
    return port, to, packet.body[8:size]


@dataclass(frozen=True)
class Segment:
    """A TCP segment without options."""

    port: int
    to: int
    sequence: int
    acknowledged: int
    flags: int
    data: bytes = b""

    @classmethod
    def read(cls, packet: Packet) -> Segment | None:
        """None for what is no TCP; options are passed over."""
        body = packet.body
        if packet.protocol != TCP or len(body) < 20:
            return None
        head = (body[12] >> 4) * 4
        if not 20 <= head <= len(body):
            return None
        port, to, sequence, acknowledged = struct.unpack(">HHII", body[:12])
        return cls(port, to, sequence, acknowledged, body[13], body[head:])

    def body(self, source: str, target: str) -> bytes:
        """Header and data, for addresses of either family."""
        head = struct.pack(
            ">HHIIBBHHH", self.port, self.to, self.sequence, self.acknowledged, 0x50, self.flags,
            16384, 0, 0,
        )  # fmt: skip
        return summed(source, target, TCP, head + self.data, 16)

    def pack(self, source: str, target: str, ttl: int = 64) -> Packet:
        """Over IPv4."""
        return Packet(source, target, TCP, self.body(source, target), ttl)


def icmp(kind: int, code: int, rest: bytes, data: bytes) -> bytes:
    """The body of an ICMP packet; `rest` are the four bytes behind the checksum."""
    body = struct.pack(">BBH", kind, code, 0) + rest + data
    return body[:2] + struct.pack(">H", checksum(body)) + body[4:]


def echo(source: str, target: str, ident: int, number: int, data: bytes, ttl: int = 64,
         reply: bool = False) -> Packet:  # fmt: skip
    """A ping, or the answer to one."""
    body = icmp(0 if reply else 8, 0, struct.pack(">HH", ident, number), data)
    return Packet(source, target, ICMP, body, ttl)


def unreachable(source: str, quoted: Packet, code: int = 4, mtu: int = 1200) -> Packet:
    """An ICMP error from `source` to the sender of `quoted`."""
    text = quoted.pack()[:28]
    return Packet(source, quoted.source, ICMP, icmp(3, code, struct.pack(">HH", 0, mtu), text))

"""DHCP messages (RFC 2131) as bytes: made and read. What is read comes from a hostile guest."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchflow.bench.ethernet import ip_bytes, ip_text, mac_bytes

DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE = 1, 2, 3, 4, 5, 6, 7
MASK, ROUTER, DNS, NAME, DOMAIN, MTU, STATIC, NTP = 1, 3, 6, 12, 15, 26, 33, 42
ADDRESS, LEASE, KIND, SERVER, WANTED, CLASSLESS = 50, 51, 53, 54, 55, 121
COOKIE = b"\x63\x82\x53\x63"


@dataclass(frozen=True)
class DhcpMessage:
    """What a DHCP packet says; `operation` is 1 of a client, 2 of a server."""

    operation: int
    number: int
    mac: str
    yours: str
    current: str
    options: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes) -> DhcpMessage | None:
        """The data of a datagram; None for what is no DHCP."""
        if len(data) < 241 or data[236:240] != COOKIE or data[2] != 6:
            return None
        return cls(
            data[0], int.from_bytes(data[4:8], "big"), data[28:34].hex(":"), ip_text(data[16:20]),
            ip_text(data[12:16]), dhcp_options(data[240:]),
        )  # fmt: skip

    @property
    def kind(self) -> int:
        """DISCOVER, OFFER …; 0 where it does not say."""
        return self.options[KIND][0] if self.options.get(KIND) else 0

    def pack(self) -> bytes:
        """The data of its datagram, with the flag that asks for a broadcast."""
        head = bytes([self.operation, 1, 6, 0]) + self.number.to_bytes(4, "big")
        head += b"\0\0\x80\0" + ip_bytes(self.current) + ip_bytes(self.yours) + bytes(8)
        head += mac_bytes(self.mac) + bytes(10) + bytes(192) + COOKIE
        for code, data in self.options.items():
            head += bytes([code, len(data)]) + data
        return (head + b"\xff").ljust(300, b"\0")

    def addresses(self, option: int) -> list[str]:
        """The addresses in an option."""
        data = self.options.get(option, b"")
        return [ip_text(data[at : at + 4]) for at in range(0, len(data) - 3, 4)]


def dhcp_options(data: bytes) -> dict[int, bytes]:
    """The options behind the cookie, the last of a kind; what is cut off is as long as it is."""
    options: dict[int, bytes] = {}
    at = 0
    while at + 1 < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        size = data[at + 1]
        options[data[at]] = data[at + 2 : at + 2 + size]
        at += 2 + size
    return options

"""The line of a station: a network of this run, so that only who asks for an address has one."""

from __future__ import annotations

import random
import re

GIVEN = 16  # addresses that QEMU's DHCP gives, from the first one on


class Line:
    """A user-mode network of QEMU's; `host` is this verifier's loopback on it."""

    def __init__(self, net: str, host: str, first: str) -> None:
        self.net, self.host, self.first = net, host, first
        self.card = [
            "-netdev", f"user,id=lake,net={net},host={host},dhcpstart={first}",
            "-device", "virtio-net-pci,netdev=lake",
        ]  # fmt: skip

    @classmethod
    def drawn(cls, draw: random.Random) -> Line:
        """A network with addresses and a width that nobody knows."""
        low = f"10.{draw.randrange(16, 240)}.{16 * draw.randrange(15)}"
        return cls(
            f"{low}.0/{draw.randrange(20, 25)}",
            f"{low}.{draw.randrange(130, 220)}",
            f"{low}.{draw.randrange(40, 100)}",
        )

    def elsewhere(self) -> Line:
        """Another lake's network: another width and other addresses, but for `host`."""
        top, third = self.host.split(".")[1:3]
        return Line(
            f"10.{top}.0.0/16", self.host,
            f"10.{top}.{int(third) + 7}.{self.first.rpartition('.')[2]}",
        )  # fmt: skip

    def gave(self, addresses: str) -> bool:
        """Whether what `ip addr` prints has one of the addresses that its DHCP gives."""
        start, _, first = self.first.rpartition(".")
        width = self.net.rpartition("/")[2]
        found = re.findall(rf"inet {re.escape(start)}\.(\d+)/{width}\b", addresses)
        return any(int(first) <= int(end) < int(first) + GIVEN for end in found)

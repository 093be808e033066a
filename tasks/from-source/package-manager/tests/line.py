"""The line of a station: a network of this run, so that only who asks for an address has one."""

from __future__ import annotations

import random


class Line:
    """A user-mode network of QEMU's with drawn addresses; `host` is this verifier's loopback."""

    def __init__(self, draw: random.Random) -> None:
        net = f"10.{draw.randrange(16, 240)}.{draw.randrange(1, 250)}"
        self.host = f"{net}.{draw.randrange(130, 220)}"
        first = f"{net}.{draw.randrange(40, 100)}"
        self.card = [
            "-netdev", f"user,id=lake,net={net}.0/24,host={self.host},dhcpstart={first}",
            "-device", "virtio-net-pci,netdev=lake",
        ]  # fmt: skip

"""A wire between the guest's card and QEMU's user network: it sees, loses and adds frames."""

from __future__ import annotations

import contextlib
import random
import select
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

MOST_KEPT = 20_000
MOST_WAIT = 0.5  # seconds


class Wire:
    """What one machine's card is connected to.

    `loss`: the share of frames that get lost, in each direction. `deaf`: so many of the guest's
    DHCP requests at the beginning are not heard. The guest's network is `net`.1 to .254 by DHCP.
    """

    def __init__(
        self, rng: random.Random, loss: float = 0, deaf: int = 0, forwards: tuple[int, ...] = ()
    ) -> None:
        self._rng, self.loss, self._deaf = random.Random(rng.random()), loss, deaf
        self.net = f"10.{rng.randrange(1, 250)}.{rng.randrange(1, 250)}"
        self.first = rng.randrange(20, 200)
        self.address = f"{self.net}.{self.first}"
        self.gateway = f"{self.net}.2"
        self.mac = "52:54:" + ":".join(f"{rng.randrange(256):02x}" for _ in range(4))
        self._folder = Path(tempfile.mkdtemp(prefix="wire-"))
        self._ends = []
        for name in ("guest", "outside"):
            end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            end.bind(str(self._folder / f"{name}.here"))
            end.setblocking(False)
            self._ends.append(end)
        self.frames: list[bytes] = []  # from the guest
        self.lost = 0
        self._joined: set[int] = set()
        self._over = threading.Event()
        self._forwards = forwards
        threading.Thread(target=self._carry, daemon=True).start()

    @property
    def arguments(self) -> list[str]:
        """What QEMU has to be told."""
        forwards = "".join(f",hostfwd=tcp:127.0.0.1:0-:{port}" for port in self._forwards)
        ends = {
            name: f"dgram,id={name},local.type=unix,local.path={self._folder}/{name}.qemu,"
            f"remote.type=unix,remote.path={self._folder}/{name}.here"
            for name in ("guest", "outside")
        }
        return [
            "-netdev",
            ends["guest"],
            "-device",
            f"virtio-net-pci,netdev=guest,mac={self.mac}",
            "-netdev",
            ends["outside"],
            "-netdev",
            f"user,id=user,net={self.net}.0/24,host={self.gateway},dhcpstart={self.address},"
            f"dns={self.net}.3{forwards}",
            "-netdev",
            "hubport,id=h1,hubid=1,netdev=outside",
            "-netdev",
            "hubport,id=h2,hubid=1,netdev=user",
        ]

    def send(self, frame: bytes) -> None:
        """A frame to the guest, as if from another machine on its network."""
        self._put(0, frame)

    def close(self) -> None:
        """The wire is cut."""
        self._over.set()
        for end in self._ends:
            end.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _carry(self) -> None:
        while not self._over.is_set():
            try:
                ready, _, _ = select.select(self._ends, [], [], 0.2)
                for end in ready:
                    self._take(self._ends.index(end), end.recv(65536))
            except (OSError, ValueError):
                if self._over.is_set():
                    return

    def _take(self, side: int, frame: bytes) -> None:
        if side == 0:
            if len(self.frames) < MOST_KEPT:
                self.frames.append(frame)
            asks = (
                frame[12:14] == b"\x08\x00"
                and frame[23:24] == b"\x11"
                and frame[36:38] == b"\0\x43"
            )
            if asks and self._deaf > 0:
                self._deaf -= 1
                return
        if self.loss and self._rng.random() < self.loss:
            self.lost += 1
            return
        self._put(1 - side, frame)

    def _put(self, side: int, frame: bytes) -> None:
        """A frame waits for a QEMU that others keep from its work; for a card that is full, not."""
        end, name = self._ends[side], ("guest", "outside")[side]
        last = time.monotonic() + MOST_WAIT
        try:
            if side not in self._joined:
                # Only of a connected socket it can be told whether the other side has room.
                end.connect(str(self._folder / f"{name}.qemu"))
                self._joined.add(side)
            while time.monotonic() < last:
                with contextlib.suppress(BlockingIOError):
                    end.send(frame)
                    return
                select.select([], [end], [], MOST_WAIT)
        except (OSError, ValueError):
            return


def checksum(data: bytes) -> int:
    """The internet's."""
    data += b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packed(mac: str) -> bytes:
    """A card's address as bytes."""
    return bytes.fromhex(mac.replace(":", ""))


def arp_request(wire: Wire, mac: str, address: str) -> bytes:
    """Who has the guest's address?"""
    ours, theirs = socket.inet_aton(address), socket.inet_aton(wire.address)
    return (
        b"\xff" * 6
        + packed(mac)
        + bytes.fromhex("08060001080006040001")
        + packed(mac)
        + ours
        + bytes(6)
        + theirs
        + bytes(18)
    )


def echo_request(wire: Wire, mac: str, address: str, number: int, payload: bytes) -> bytes:
    """An ICMP echo request to the guest."""
    icmp = b"\x08\0\0\0" + number.to_bytes(2, "big") + b"\0\1" + payload
    icmp = icmp[:2] + checksum(icmp).to_bytes(2, "big") + icmp[4:]
    head = (
        b"\x45\0"
        + (20 + len(icmp)).to_bytes(2, "big")
        + number.to_bytes(2, "big")
        + b"\0\0\x40\x01\0\0"
    )
    head += socket.inet_aton(address) + socket.inet_aton(wire.address)
    head = head[:10] + checksum(head).to_bytes(2, "big") + head[12:]
    return packed(wire.mac) + packed(mac) + b"\x08\0" + head + icmp


def echo_reply(frame: bytes, number: int) -> bytes | None:
    """The payload of an echo reply with right sums; None for anything else."""
    if frame[12:14] != b"\x08\0" or frame[23:24] != b"\1" or len(frame) < 42:
        return None
    length = int.from_bytes(frame[16:18], "big")
    head, icmp = frame[14:34], frame[34 : 14 + length]
    if (
        checksum(head)
        or checksum(icmp)
        or icmp[:1] != b"\0"
        or icmp[4:6] != number.to_bytes(2, "big")
    ):
        return None
    return icmp[8:]

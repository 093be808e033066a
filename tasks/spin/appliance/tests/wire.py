"""A neighbour on the unit's cable: Ethernet frames of our own, IPv4 and IPv6, TCP and UDP.

What is read comes from a hostile guest: whatever is cut off or too large is passed over.
"""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from benchflow.bench.ethernet import (
    ARP,
    BROADCAST,
    ICMP,
    ICMPV6,
    IPV4,
    IPV6,
    RST,
    SYN,
    TCP,
    UDP,
    Arp,
    Frame,
    Segment,
    drawn_mac,
    ip_packet,
    mac_bytes,
    summed,
)
from benchflow.boot import Machine

#: Drawn for each run: no rule of a unit's can be about them.
UNIT_MAC = drawn_mac()
OUR_MAC = f"02:{secrets.token_bytes(5).hex(':')}"
OUR_IPV4 = f"10.0.2.{32 + secrets.randbelow(200)}"
OUR_IPV6 = str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + b"\x02" + secrets.token_bytes(7)))
ALL_PORTS = range(1, 65536)


def cable(folder: Path, forwards: Iterable[int]) -> list[str]:
    """QEMU's arguments for a unit whose card hangs on a hub, with a user network and with us."""
    doors = "".join(f",hostfwd=tcp:127.0.0.1:0-:{port}" for port in forwards)
    ends = (
        f"local.type=unix,local.path={folder}/unit,remote.type=unix,remote.path={folder}/neighbour"
    )
    return [
        "-netdev", f"user,id=uplink,restrict=on{doors}",
        "-netdev", f"dgram,id=wire,{ends}",
        "-netdev", "hubport,id=hub-uplink,hubid=0,netdev=uplink",
        "-netdev", "hubport,id=hub-wire,hubid=0,netdev=wire",
        "-netdev", "hubport,id=hub-unit,hubid=0",
        "-device", f"virtio-net-pci,netdev=hub-unit,mac={UNIT_MAC},romfile=",
    ]  # fmt: skip


#: What all on a cable hear, and how Ethernet addresses it.
TO_ALL = {
    "255.255.255.255": BROADCAST,
    "224.0.0.1": "01:00:5e:00:00:01",
    "ff02::1": "33:33:00:00:00:01",
}


def _frame(kind: int, body: bytes, target: str = UNIT_MAC) -> bytes:
    return Frame(target, OUR_MAC, kind, body).pack()


def _ours(address: str) -> str:
    """Our own address of the same family."""
    return OUR_IPV6 if ":" in address else OUR_IPV4


def _syn(source: str, port: int, target: str, to: int) -> bytes:
    body = Segment(port, to, secrets.randbits(31), 0, SYN).body(source, target)
    return _frame(*ip_packet(source, target, TCP, body))


def _datagram(port: int, target: str, to: int, data: bytes) -> bytes:
    source = _ours(target)
    body = struct.pack(">HHHH", port, to, 8 + len(data), 0) + data
    packet = ip_packet(source, target, UDP, summed(source, target, UDP, body, 6))
    return _frame(*packet, TO_ALL.get(target, UNIT_MAC))


class Neighbour:
    """Somebody on the same cable, who answers for our addresses and notes what comes back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(str(folder / "neighbour"))
        self._line.settimeout(0.5)
        self._flags: dict[tuple[str, int], int] = {}
        self._unreachable: set[int] = set()
        self._over = False
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._over = True

    # -- questions ----------------------------------------------------------------------------

    def answers(
        self, machine: Machine, address: str, ports: Iterable[int], source_port: int = 0
    ) -> dict[int, bool]:
        """Which TCP ports of `address` answer a SYN, and whether they take the connection.

        What is refused (RST) is False; what is silent is not in it.
        """
        wanted = list(ports)
        source = _ours(address)
        tries = 1 if len(wanted) > 1000 else 2
        self._flags.clear()
        for _ in range(tries):
            mine = source_port or secrets.randbelow(20000) + 20000
            for at in range(0, len(wanted), 64):
                self._send(_syn(source, mine, address, port) for port in wanted[at : at + 64])
            self._wait(machine, 2.0, lambda: len(self._flags) >= len(wanted))
        found = dict(self._flags)  # a copy: the listener's thread goes on
        return {port: bool(flags & SYN) for (host, port), flags in found.items() if host == address}

    def says(self, machine: Machine, port: int, said: Iterable[tuple[str, int, str]]) -> None:
        """Send datagrams (address, our port, text) three times; the unit tells who hears them."""
        frames = [_datagram(ours, to, port, text.encode() + b"\n") for to, ours, text in said]
        for _ in range(3):
            self._send(frames)
            self._wait(machine, 1.0, lambda: False)

    def refused(self, machine: Machine, address: str) -> set[int]:
        """UDP ports of `address` that say by ICMP that nobody listens there.

        A kernel says so once a second at most after the first six, so a wall that refuses shows
        as a few ports, and a single port that is let in as this one.
        """
        self._unreachable.clear()
        ports = list(ALL_PORTS)
        secrets.SystemRandom().shuffle(ports)
        for at in range(0, len(ports), 64):
            self._send(_datagram(40000, address, port, b"?") for port in ports[at : at + 64])
        self._wait(machine, 2.0, lambda: False)
        return set(self._unreachable)

    # -- frames -------------------------------------------------------------------------------

    def _wait(self, machine: Machine, seconds: float, enough: Callable[[], bool]) -> None:
        deadline = machine.deadline(seconds)
        while deadline.remaining() > 0 and not enough():
            time.sleep(0.05)

    def _send(self, frames: Iterable[bytes]) -> None:
        for frame in frames:
            for _ in range(20):  # a full queue: the unit takes its time
                try:
                    self._line.sendto(frame, str(self.folder / "unit"))
                    break
                except TimeoutError:
                    continue
                except OSError:  # it is switched off
                    return
        time.sleep(0.01)  # QEMU queues some thousands of frames, and drops what is more

    def _listen(self) -> None:
        while not self._over:
            try:
                data = self._line.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                return
            with contextlib.suppress(struct.error, ValueError, IndexError):
                self._hear(data)

    def _hear(self, data: bytes) -> None:
        if len(data) < 42 or data[6:12] != mac_bytes(UNIT_MAC):
            return
        kind, body = int.from_bytes(data[12:14], "big"), data[14:]
        if kind == ARP:
            self._resolve(body)
        elif kind == IPV4 and body[9] == TCP:
            host = str(ipaddress.IPv4Address(body[12:16]))
            self._note(host, body[16:20], body[(body[0] & 15) * 4 :])
        elif kind == IPV6 and body[6] == TCP:
            self._note(str(ipaddress.IPv6Address(body[8:24])), body[24:40], body[40:])
        elif kind == IPV6 and body[6] == ICMPV6 and body[40] == 135:
            self._advertise(body)
        elif kind == IPV4 and body[9] == ICMP:
            about = body[(body[0] & 15) * 4 :]
            if about[0] == 3:
                self._told(about[8 + (about[8] & 15) * 4 :])
        elif kind == IPV6 and body[6] == ICMPV6 and body[40] == 1:
            self._told(body[88:])

    def _told(self, datagram: bytes) -> None:
        """The head of a datagram of ours that did not arrive."""
        if len(datagram) >= 4 and len(self._unreachable) < 70000:
            self._unreachable.add(int.from_bytes(datagram[2:4], "big"))

    def _note(self, host: str, target: bytes, segment: bytes) -> None:
        ours = {ipaddress.ip_address(a).packed for a in (OUR_IPV4, OUR_IPV6)}
        if target in ours and len(self._flags) < 70000 and segment[13] & (SYN | RST):
            port = int.from_bytes(segment[:2], "big")
            self._flags[(host, port)] = self._flags.get((host, port), 0) | segment[13]

    def _resolve(self, body: bytes) -> None:
        """Who has our IPv4 address?"""
        ours = ipaddress.IPv4Address(OUR_IPV4).packed
        if body[6:8] == b"\0\1" and body[24:28] == ours:
            asked = Arp.read(body)
            if asked:
                answer = Arp(2, OUR_MAC, OUR_IPV4, asked.mac, asked.address)
                self._send([_frame(ARP, answer.pack())])

    def _advertise(self, body: bytes) -> None:
        """Who has our IPv6 address? (RFC 4861, 4.4)"""
        ours, asker = ipaddress.IPv6Address(OUR_IPV6), body[8:24]
        if body[48:64] != ours.packed or not any(asker):
            return
        told = struct.pack(">BBHI", 136, 0, 0, 0x60000000) + ours.packed + b"\2\1"
        asked_by = str(ipaddress.IPv6Address(asker))
        told = summed(OUR_IPV6, asked_by, ICMPV6, told + mac_bytes(OUR_MAC), 2)
        self._send([_frame(*ip_packet(OUR_IPV6, asked_by, ICMPV6, told, hops=255))])

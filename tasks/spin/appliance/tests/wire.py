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

from benchflow.boot import Machine

#: Drawn for each run: no rule of a unit's can be about them.
UNIT_MAC = f"52:54:00:{secrets.token_bytes(3).hex(':')}"
OUR_MAC = f"02:{secrets.token_bytes(5).hex(':')}"
OUR_IPV4 = f"10.0.2.{32 + secrets.randbelow(200)}"
OUR_IPV6 = str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + b"\x02" + secrets.token_bytes(7)))
ALL_PORTS = range(1, 65536)
_ARP, _IPV4, _IPV6 = 0x0806, 0x0800, 0x86DD
_TCP, _UDP, _ICMPV6 = 6, 17, 58
_SYN, _RST, _ACK = 2, 4, 16


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


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _sum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _packet(source: str, target: str, protocol: int, body: bytes, at: int, hops: int = 64) -> bytes:
    """An Ethernet frame to the unit; the checksum of `body` belongs at `at`."""
    here, there = (ipaddress.ip_address(text) for text in (source, target))
    if here.version == 4:
        pseudo = here.packed + there.packed + struct.pack(">BBH", 0, protocol, len(body))
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0x4000, hops, protocol, 0)
        head += here.packed + there.packed
        head = head[:10] + struct.pack(">H", _sum(head)) + head[12:]
    else:
        pseudo = here.packed + there.packed + struct.pack(">II", len(body), protocol)
        head = struct.pack(">IHBB", 6 << 28, len(body), protocol, hops) + here.packed + there.packed
    total = _sum(pseudo + body) or 0xFFFF
    body = body[:at] + struct.pack(">H", total) + body[at + 2 :]
    kind = _IPV4 if here.version == 4 else _IPV6
    return _frame(kind, head + body)


def _frame(kind: int, body: bytes) -> bytes:
    return (_mac(UNIT_MAC) + _mac(OUR_MAC) + struct.pack(">H", kind) + body).ljust(60, b"\0")


def _syn(source: str, port: int, target: str, to: int) -> bytes:
    body = struct.pack(">HHIIBBHHH", port, to, secrets.randbits(31), 0, 0x50, _SYN, 64240, 0, 0)
    return _packet(source, target, _TCP, body, 16)


def _datagram(source: str, target: str, to: int, data: bytes) -> bytes:
    body = struct.pack(">HHHH", 40000, to, 8 + len(data), 0) + data
    return _packet(source, target, _UDP, body, 6)


class Neighbour:
    """Somebody on the same cable, who answers for our addresses and notes what comes back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(str(folder / "neighbour"))
        self._line.settimeout(0.5)
        self._flags: dict[tuple[str, int], int] = {}
        self._over = False
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._over = True

    # -- questions ----------------------------------------------------------------------------

    def answers(self, machine: Machine, address: str, ports: Iterable[int]) -> dict[int, bool]:
        """Which TCP ports of `address` answer a SYN, and whether they take the connection.

        What is refused (RST) is False; what is silent is not in it.
        """
        wanted = list(ports)
        source = OUR_IPV4 if ":" not in address else OUR_IPV6
        tries = 1 if len(wanted) > 1000 else 2
        self._flags.clear()
        for _ in range(tries):
            mine = secrets.randbelow(20000) + 20000
            for at in range(0, len(wanted), 64):
                self._send(_syn(source, mine, address, port) for port in wanted[at : at + 64])
            self._wait(machine, 2.0, lambda: len(self._flags) >= len(wanted))
        found = dict(self._flags)  # a copy: the listener's thread goes on
        return {
            port: bool(flags & _SYN) for (host, port), flags in found.items() if host == address
        }

    def says(self, machine: Machine, address: str, port: int, text: str) -> None:
        """Send a datagram, three times: who hears it is the unit's to tell."""
        source = OUR_IPV4 if ":" not in address else OUR_IPV6
        for _ in range(3):
            self._send([_datagram(source, address, port, text.encode() + b"\n")])
            self._wait(machine, 1.0, lambda: False)

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
        if len(data) < 42 or data[6:12] != _mac(UNIT_MAC):
            return
        kind, body = int.from_bytes(data[12:14], "big"), data[14:]
        if kind == _ARP:
            self._resolve(body)
        elif kind == _IPV4 and body[9] == _TCP:
            host = str(ipaddress.IPv4Address(body[12:16]))
            self._note(host, body[16:20], body[(body[0] & 15) * 4 :])
        elif kind == _IPV6 and body[6] == _TCP:
            self._note(str(ipaddress.IPv6Address(body[8:24])), body[24:40], body[40:])
        elif kind == _IPV6 and body[6] == _ICMPV6 and body[40] == 135:
            self._advertise(body)

    def _note(self, host: str, target: bytes, segment: bytes) -> None:
        ours = {ipaddress.ip_address(a).packed for a in (OUR_IPV4, OUR_IPV6)}
        if target in ours and len(self._flags) < 70000 and segment[13] & (_SYN | _RST):
            port = int.from_bytes(segment[:2], "big")
            self._flags[(host, port)] = self._flags.get((host, port), 0) | segment[13]

    def _resolve(self, body: bytes) -> None:
        """Who has our IPv4 address?"""
        ours = ipaddress.IPv4Address(OUR_IPV4).packed
        if body[6:8] == b"\0\1" and body[24:28] == ours:
            answer = b"\0\1\x08\0\x06\x04\0\2" + _mac(OUR_MAC) + ours + body[8:18]
            self._send([_frame(_ARP, answer)])

    def _advertise(self, body: bytes) -> None:
        """Who has our IPv6 address? (RFC 4861, 4.4)"""
        ours, asker = ipaddress.IPv6Address(OUR_IPV6), body[8:24]
        if body[48:64] != ours.packed or not any(asker):
            return
        told = struct.pack(">BBHI", 136, 0, 0, 0x60000000) + ours.packed + b"\2\1" + _mac(OUR_MAC)
        asked_by = str(ipaddress.IPv6Address(asker))
        self._send([_packet(OUR_IPV6, asked_by, _ICMPV6, told, 2, hops=255)])

"""Both networks of the router, made of frames: a wire with its VLANs, and the hosts on them.

A wire has one port on a LAN of the verifier's, and a thread that reads it. Hosts answer ARP and
pings and what they serve; what a check sends is sent by hand, and looked for in what was seen.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from benchflow.bench.ethernet import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    Arp,
    Frame,
    Packet,
    echo,
    mac_bytes,
    read_udp,
    udp,
)
from benchflow.boot.machine.nics import lan

TAGGED = 0x8100
_KEPT = 20_000
_LONGEST = 2048
#: Seconds from frame to frame: a queue holds some ten, and what is more is lost.
_APART = 0.002

#: Held by whoever looks at what was seen, on any wire; told of each frame.
NEWS = threading.Condition(threading.RLock())


@dataclass(frozen=True)
class Seen:
    """A frame of the router's. `net` is where; `number` counts all frames of all wires."""

    number: int
    net: Net
    frame: Frame

    @property
    def packet(self) -> Packet | None:
        return Packet.read(self.frame.body) if self.frame.kind == IPV4 else None

    @property
    def tos(self) -> int:
        return self.frame.body[1] if len(self.frame.body) > 1 else 0


SEEN: deque[Seen] = deque(maxlen=_KEPT)
_count = 0


def mark() -> int:
    """A place in what is seen."""
    with NEWS:
        return _count


def since(place: int) -> list[Seen]:
    with NEWS:
        return [one for one in SEEN if one.number > place]


class Wire:
    """One cable of the router's. Frames come by their tag to the nets on it."""

    def __init__(self, name: str) -> None:
        self._socket: socket.socket = lan(name).attach()
        self._socket.settimeout(0.5)
        self._open, self._sent_at = True, 0.0
        self._sending = threading.Lock()
        self.nets: dict[int, Net] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, frame: Frame, vlan: int) -> None:
        data = frame.pack()
        if vlan:
            data = data[:12] + struct.pack(">HH", TAGGED, vlan) + data[12:]
        with self._sending:
            time.sleep(max(0.0, min(_APART, self._sent_at + _APART - time.monotonic())))
            self._sent_at = time.monotonic()
            try:
                self._socket.send(data)
            except OSError:
                return  # a full queue loses frames, as the hub does

    def close(self) -> None:
        self._open = False

    def _read(self) -> None:
        global _count
        while self._open:
            try:
                frame = Frame.read(self._socket.recv(65536)[:_LONGEST])
            except TimeoutError:
                continue
            except OSError:
                break
            if frame is None:
                continue
            vlan = 0
            if frame.kind == TAGGED and len(frame.body) >= 4:
                tag, kind = struct.unpack(">HH", frame.body[:4])
                vlan = tag & 0xFFF
                frame = Frame(frame.target, frame.source, kind, frame.body[4:])
            net = self.nets.get(vlan)
            if net is None or (net.only and net.only != frame.source):
                continue
            with NEWS:
                _count += 1
                SEEN.append(Seen(_count, net, frame))
                for host in tuple(net.hosts):
                    # Whatever a router sends: nobody here may be silenced by it.
                    with contextlib.suppress(ValueError, IndexError, struct.error):
                        host.take(frame)
                NEWS.notify_all()
        self._socket.close()


class Net:
    """A network on a wire: untagged where `vlan` is 0."""

    def __init__(self, name: str, wire: Wire, vlan: int) -> None:
        self.name, self.wire, self.vlan = name, wire, vlan
        self.hosts: list[Host] = []
        self.only = ""
        """The one card that is heard here, where there is such a one."""
        wire.nets[vlan] = self

    def send(self, frame: Frame) -> None:
        self.wire.send(frame, self.vlan)


class Host:
    """A machine on a net. `serve[port]` answers datagrams; `everybody`: all addresses that nobody
    else on the net has are reached through it, as the world is through the carrier's gateway."""

    def __init__(self, net: Net, mac: str, address: str, everybody: bool = False) -> None:
        self.net, self.mac, self.address = net, mac, address
        self.everybody = everybody
        self.silent = False
        self.neighbours: dict[str, str] = {}
        self.serve: dict[int, Callable[[Packet, int, bytes], bytes | None]] = {}
        net.hosts.append(self)

    def gone(self) -> None:
        """It leaves its net."""
        with NEWS:
            if self in self.net.hosts:
                self.net.hosts.remove(self)

    def take(self, frame: Frame) -> None:
        """A frame of the router's, in its wire's thread."""
        if self.silent:
            return
        if frame.kind == ARP:
            said = Arp.read(frame.body)
            if said is None:
                return
            if len(self.neighbours) < 1000 and said.address != "0.0.0.0":
                self.neighbours[said.address] = said.mac
            if said.operation == 1 and said.target == self.address != "0.0.0.0":
                answer = Arp(2, self.mac, self.address, said.mac, said.address)
                self.net.send(Frame(said.mac, self.mac, ARP, answer.pack()))
            return
        if frame.kind != IPV4 or frame.target not in (self.mac, BROADCAST):
            return
        packet = Packet.read(frame.body)
        if packet is None or not (self.everybody or packet.target == self.address):
            return
        if packet.protocol == ICMP and packet.body[:1] == b"\x08" and len(packet.body) >= 8:
            ident, number = struct.unpack(">HH", packet.body[4:8])
            answer = echo(packet.target, packet.source, ident, number, packet.body[8:], reply=True)
            self.put(answer, frame.source)
            return
        found = read_udp(packet)
        if found and found[1] in self.serve:
            data = self.serve[found[1]](packet, found[0], found[2])
            if data is not None:
                self.put(udp(packet.target, found[1], packet.source, found[0], data), frame.source)

    def put(self, packet: Packet, mac: str) -> None:
        self.net.send(Frame(mac, self.mac, IPV4, packet.pack()))

    def ask(self, address: str) -> None:
        """Ask by ARP who has an address."""
        said = Arp(1, self.mac, self.address, "00:00:00:00:00:00", address)
        self.net.send(Frame(BROADCAST, self.mac, ARP, said.pack()))


def has_mss(packet: Packet) -> int | None:
    """The MSS that a SYN announces; None where it announces none."""
    body = packet.body
    if len(body) < 20:
        return None
    options = body[20 : (body[12] >> 4) * 4]
    while options and options[0] != 0:
        if options[0] == 1:
            options = options[1:]
            continue
        if len(options) < 2 or options[1] < 2:
            return None
        if options[0] == 2 and len(options) >= 4:
            return int.from_bytes(options[2:4], "big")
        options = options[options[1] :]
    return None


def magic(mac: str) -> bytes:
    """What wakes a machine."""
    return b"\xff" * 6 + mac_bytes(mac) * 16

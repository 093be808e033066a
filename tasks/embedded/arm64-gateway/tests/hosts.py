"""Hosts of the bench on both sides of the gateway, made of frames.

A host is a thread's worth of ARP, IPv4, UDP, TCP and ping on a cable of a LAN of the verifier's.
It needs no start, sees every frame on its cable, and can say what an honest system never would.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from streams import Stream

from benchflow.bench.ethernet import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    TCP,
    UDP,
    Arp,
    Frame,
    Packet,
    Segment,
    echo,
    read_udp,
    udp,
)
from benchflow.boot.machine.nics import lan

KEPT = 20_000
FRAME_MAX = 2048  # of what is longer only so much is kept: 20,000 frames fit into memory
CONNECTIONS_MAX = 256
TICK = 0.5
APART = 0.002  # seconds from frame to frame: ten that wait fill a queue, and the next is lost


class Cable:
    """A place on a LAN. `seen` are the newest frames; each of `watchers` is shown all."""

    def __init__(self, name: str) -> None:
        self._wire: socket.socket = lan(name).attach()
        self._wire.settimeout(TICK)
        self._open = True
        self._ticked = self._sent_at = 0.0
        self.lock = threading.RLock()
        self.news = threading.Condition(self.lock)
        self.seen: deque[Frame] = deque(maxlen=KEPT)
        self.count = 0
        self.hosts: list[Host] = []
        self.watchers: list[Callable[[Frame], None]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, frame: Frame) -> None:
        time.sleep(max(0.0, min(APART, self._sent_at + APART - time.monotonic())))
        self._sent_at = time.monotonic()
        try:
            self._wire.send(frame.pack())
        except OSError:
            return  # a full queue loses frames, as the hub does

    def since(self, mark: int) -> list[Frame]:
        """What was seen after `count` stood at `mark`, as far as it is kept."""
        with self.lock:
            fresh = min(self.count - mark, len(self.seen))
            return list(self.seen)[len(self.seen) - fresh :] if fresh else []

    def close(self) -> None:
        self._open = False

    def _read(self) -> None:
        while self._open:
            try:
                frame = Frame.read(self._wire.recv(65536)[:FRAME_MAX])
            except TimeoutError:
                self._tick()
                continue
            except OSError:
                break
            if frame is None:
                continue
            with self.lock:
                self.count += 1
                self.seen.append(frame)
                for watcher in self.watchers:
                    watcher(frame)
                for host in self.hosts:
                    host.take(frame)
                self.news.notify_all()
            if time.monotonic() - self._ticked > TICK:
                self._tick()
        self._wire.close()

    def _tick(self) -> None:
        self._ticked = time.monotonic()
        for host in self.hosts:
            for stream in tuple(host.streams.values()):
                stream.tick()


class Host:
    """One machine. `serve_udp[port]` answers datagrams, `serve_tcp[port]` requests (a bytes to
    bytes function, or None to hold the connection open and collect)."""

    def __init__(self, cable: Cable, mac: str, address: str = "0.0.0.0", bits: int = 24) -> None:
        self.cable, self.mac = cable, mac
        self.address, self.bits = address, bits
        self.also: set[str] = set()
        self.silent = False
        self.pings = True
        self.neighbours: dict[str, str] = {}
        self.inbox: deque[tuple[Packet, str]] = deque(maxlen=4000)
        self.serve_udp: dict[int, Callable[[str, int, bytes], bytes | None]] = {}
        self.serve_tcp: dict[int, Callable[[bytes], bytes] | None] = {}
        self.streams: dict[tuple[int, str, int], Stream] = {}
        self._port = 20000 + int(mac[-2:], 16) * 64
        cable.hosts.append(self)

    # -- receiving, in the cable's thread -------------------------------------------------------

    def take(self, frame: Frame) -> None:
        if self.silent or frame.source == self.mac:
            return
        if frame.kind == ARP:
            self._arp(frame)
        elif frame.kind == IPV4 and frame.target in (self.mac, BROADCAST):
            packet = Packet.read(frame.body)
            if packet is not None:
                self._packet(packet, frame.source)

    def mine(self, address: str) -> bool:
        return address == self.address or address in self.also

    def _arp(self, frame: Frame) -> None:
        said = Arp.read(frame.body)
        if said is None:
            return
        if len(self.neighbours) < 1000 and said.operation == 2:
            self.neighbours[said.address] = said.mac
        if said.operation == 1 and self.mine(said.target) and said.target != "0.0.0.0":
            answer = Arp(2, self.mac, said.target, said.mac, said.address)
            self.cable.send(Frame(frame.source, self.mac, ARP, answer.pack()))

    def _packet(self, packet: Packet, source: str) -> None:
        self.inbox.append((packet, source))
        if not self.mine(packet.target):
            return
        # A neighbour is answered without the gateway, whoever handed the packet on.
        near = (host.mac for host in self.cable.hosts if host.mine(packet.source))
        source = next(near, source)
        if packet.protocol == ICMP and self.pings and packet.body[:1] == b"\x08":
            body = packet.body
            answer = echo(packet.target, packet.source, int.from_bytes(body[4:6], "big"),
                          int.from_bytes(body[6:8], "big"), body[8:], reply=True)  # fmt: skip
            self.put(answer, source)
        elif packet.protocol == UDP:
            found = read_udp(packet)
            if found and found[1] in self.serve_udp:
                data = self.serve_udp[found[1]](packet.source, found[0], found[2])
                if data is not None:
                    self.put(udp(packet.target, found[1], packet.source, found[0], data), source)
        elif packet.protocol == TCP:
            self._segment(packet, source)

    def _segment(self, packet: Packet, source: str) -> None:
        segment = Segment.read(packet)
        if segment is None:
            return
        key = (segment.to, packet.source, segment.port)
        stream = self.streams.get(key)
        fresh = segment.flags & 0x17 == 2
        if fresh and segment.to in self.serve_tcp and len(self.streams) < CONNECTIONS_MAX:
            stream = self.streams[key] = Stream(
                self, packet.target, segment.to, packet.source, segment.port, source,
                self.serve_tcp[segment.to],
            )  # fmt: skip
        if stream is not None:
            stream.take(segment)

    # -- sending --------------------------------------------------------------------------------

    def put(self, packet: Packet, mac: str) -> None:
        """Send a packet to a card."""
        self.cable.send(Frame(mac, self.mac, IPV4, packet.pack()))

    def port(self) -> int:
        self._port += 1
        return self._port

    def ask_arp(self, address: str, sender: str | None = None) -> None:
        said = Arp(1, self.mac, sender or self.address, "00:00:00:00:00:00", address)
        self.cable.send(Frame(BROADCAST, self.mac, ARP, said.pack()))

    def received(self, wanted: Callable[[Packet], bool]) -> list[Packet]:
        with self.cable.lock:
            return [packet for packet, _ in self.inbox if wanted(packet)]

"""Whom the unit talks to: servers on the verifier's loopback, and a neighbour with IPv6 alone."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time

import draws
from lossy import Lossy

from benchflow.bench.ethernet import (
    ICMPV6,
    IPV6,
    UDP,
    Frame,
    drawn_mac,
    ip_bytes,
    ip_packet,
    ip_text,
    mac_bytes,
    mac_text,
    summed,
)
from benchflow.boot.machine.nics import lan

#: At once: what a guest opens takes threads and memory of the verifier.
CONNECTIONS = 64
SOLICITS, ADVERTISES, ECHO, REPLY = 135, 136, 128, 129


class Loopback:
    """TCP: the sum of all that came, once that has ended. UDP: what came, turned round."""

    def __init__(self) -> None:
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._room = threading.Semaphore(CONNECTIONS)
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        self.tcp, self.udp = self._tcp.getsockname()[1], self._udp.getsockname()[1]
        for work in (self._accept, self._turn):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        self._tcp.close()
        self._udp.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._tcp.accept()
            except OSError:
                return
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._sum, args=(connection,), daemon=True).start()

    def _sum(self, connection: socket.socket) -> None:
        connection.settimeout(120)
        data = b""
        try:
            while len(data) < 4 << 20 and (more := connection.recv(65536)):
                data += more
            connection.sendall(draws.total(data).encode())
        except OSError:
            pass  # a guest that goes away has no sum, and its check sees that
        finally:
            connection.close()
            self._room.release()

    def _turn(self) -> None:
        while True:
            try:
                data, sender = self._udp.recvfrom(2048)
                self._udp.sendto(data[::-1], sender)
            except OSError:
                return


def ask(port: tuple[str, int], data: bytes, seconds: float) -> str:
    """What a server in the guest answers, once all is sent."""
    with socket.create_connection(port, timeout=seconds) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while len(answer) < 100 and (more := connection.recv(100)):
            answer += more
    return answer.decode(errors="replace").strip()


class Neighbour:
    """A machine on the cable of the other card: neighbour discovery, pings and UDP over IPv6, and
    `four`, its IPv4."""

    def __init__(self, name: str, rng: random.Random) -> None:
        net = f"fd{rng.randrange(256):02x}:{rng.randrange(1, 65536):x}::"
        self.address, self.guest = (
            f"{net}{rng.randrange(2, 999):x}",
            f"{net}{rng.randrange(1000, 9999):x}",
        )
        self.mac, self.port = drawn_mac(), rng.randrange(2000, 60000)
        self.pings, self.seen, self._heard = 0, "", {}
        net = f"172.{rng.randrange(16, 32)}.{rng.randrange(256)}"
        self.four = Lossy(f"{net}.{rng.randrange(2, 100)}", self.mac, rng)
        self.guest_four = f"{net}.{rng.randrange(100, 250)}"
        self._socket = lan(name).attach()
        self._socket.settimeout(0.5)
        self._open = True
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._open = False

    def _listen(self) -> None:
        while self._open:
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                break
            for answer in self.answers(data):
                try:
                    self._socket.send(answer)
                except OSError:
                    continue  # a full queue loses frames, as a real hub does
        self._socket.close()

    def answers(self, data: bytes) -> list[bytes]:
        """The frames that a frame of the guest's is answered with."""
        frame = Frame.read(data)
        if frame is not None and frame.kind != IPV6:
            return [answer.pack() for answer in self.four.answers(frame)]
        if frame is None or frame.kind != IPV6 or len(frame.body) < 48 or frame.body[0] >> 4 != 6:
            return []
        size, protocol = struct.unpack(">HB", frame.body[4:7])
        source, target = ip_text(frame.body[8:24]), ip_text(frame.body[24:40])
        body = frame.body[40 : 40 + size]
        if len(body) < max(8, size) or source == "::":
            return []
        made = self._made(protocol, source, target, body)
        if made is None:
            return []
        kind, packet = ip_packet(self.address, source, protocol, made, hops=255)
        return [Frame(frame.source, self.mac, kind, packet).pack()]

    def finds_guest(self, seconds: float) -> str:
        """The MAC that the guest says is its own, by IPv6; "" where it does not say."""
        group = bytes.fromhex("ff02" + "00" * 9 + "01ff") + ip_bytes(self.guest)[13:]
        asked = bytes([SOLICITS, 0, 0, 0, 0, 0, 0, 0]) + ip_bytes(self.guest)
        asked += b"\1\1" + mac_bytes(self.mac)
        self._ask("33:33:" + mac_text(group[12:]), ip_text(group), ICMPV6, asked,
                  lambda: self.seen, seconds)  # fmt: skip
        return self.seen

    def pings_guest(self, data: bytes, seconds: float) -> bytes:
        """What it says to a ping with this."""
        made = bytes([ECHO, 0, 0, 0]) + data[:4]
        return self._ask(self.seen, self.guest, ICMPV6, made + data,
                         lambda: self._heard.get(ICMPV6), seconds)  # fmt: skip

    def asks_guest(self, port: int, data: bytes, seconds: float) -> bytes:
        """What its server of UDP says."""
        made = struct.pack(">HHHH", self.port + 1, port, 8 + len(data), 0)
        return self._ask(self.seen, self.guest, UDP, made + data,
                         lambda: self._heard.get(UDP), seconds)  # fmt: skip

    def _ask(self, mac: str, target: str, protocol: int, body: bytes, answer, seconds: float):
        """Say it again and again until there is an answer."""
        self._heard.clear()
        made = summed(self.address, target, protocol, body, 6 if protocol == UDP else 2)
        kind, packet = ip_packet(self.address, target, protocol, made, hops=255)
        until = time.monotonic() + seconds
        while not answer() and time.monotonic() < until:
            with contextlib.suppress(OSError):
                self._socket.send(Frame(mac, self.mac, kind, packet).pack())
            time.sleep(0.5)
        return answer() or b""

    def _made(self, protocol: int, source: str, target: str, body: bytes) -> bytes | None:
        if protocol == ICMPV6 and body[0] == SOLICITS and body[8:24] == ip_bytes(self.address):
            said = bytes([ADVERTISES, 0, 0, 0, 0x60, 0, 0, 0]) + ip_bytes(self.address)
            return summed(self.address, source, ICMPV6, said + b"\2\1" + mac_bytes(self.mac), 2)
        if target != self.address or not _right(source, target, protocol, body):
            return None
        if protocol == ICMPV6 and body[0] == ADVERTISES and body[8:24] == ip_bytes(self.guest):
            self.seen = mac_text(body[26:32]) if body[24:26] == b"\2\1" else self.seen
        if source == self.guest and (protocol == UDP or (protocol == ICMPV6 and body[0] == REPLY)):
            self._heard[protocol] = body[8:]
        if protocol == ICMPV6 and body[0] == ECHO:
            self.pings += 1
            return summed(self.address, source, ICMPV6, bytes([REPLY, 0, 0, 0]) + body[4:], 2)
        if protocol == UDP and int.from_bytes(body[2:4], "big") == self.port:
            said = body[2:4] + body[:2] + body[4:6] + b"\0\0" + body[8:][::-1]
            return summed(self.address, source, UDP, said, 6)
        return None


def _right(source: str, target: str, protocol: int, body: bytes) -> bool:
    """Whether what came has a right sum."""
    at = {ICMPV6: 2, UDP: 6}.get(protocol)
    if at is None:
        return False
    zeroed = body[:at] + b"\0\0" + body[at + 2 :]
    return summed(source, target, protocol, zeroed, at) == body

"""What is sent to the router and seen of it: probes, connections, questions, waiting."""

from __future__ import annotations

import random
import secrets
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from carrier import question, read_answer
from clients import Client
from model import WORLD, Model, Out
from ordered import AXES, NETS
from station import Station
from talks import Talk
from wire import NEWS, Host, Net, Seen, mark, since

from benchflow.bench.dhcp_message import DhcpMessage
from benchflow.bench.ethernet import (
    ICMP,
    SYN,
    TCP,
    UDP,
    Packet,
    Segment,
    echo,
    read_udp,
    udp,
)
from benchflow.boot.machine.deadline import Deadline

#: What the order allows a start and a change.
START, CHANGE = 120.0, 30.0


@dataclass
class Probe:
    """A packet that was sent, and what it is known by."""

    token: bytes
    protocol: str
    packet: Packet

    def is_in(self, packet: Packet) -> bool:
        if self.protocol == "tcp":
            return packet.protocol == TCP and packet.body[4:8] == self.token
        return self.token in packet.body


class Traffic:
    """Both sides of the router that `station` is, and the model beside it."""

    station: Station
    model: Model
    draw: random.Random
    nets: dict[str, Net]
    world: Host
    spare: dict[str, Host]
    """On each network of the site, somebody of whom the order says nothing."""
    began: Deadline
    """What is left of the time for the last start."""

    # -- waiting ----------------------------------------------------------------------------------

    def until(self, found: Callable[[], object], seconds: float) -> bool:
        """Whether something comes true in so many reference seconds."""
        deadline = self.station.machine.deadline(seconds)
        while not found():
            if deadline.remaining() <= 0 or not self.station.machine.alive:
                return False
            with NEWS:
                NEWS.wait(0.05)
        return True

    def patience(self, seconds: float = 0.0) -> float:
        """Seconds that the order allows at this moment, where none are said."""
        return seconds or max(CHANGE, min(START, self.began.remaining()))

    def again(self, attempt: Callable[[], object], found: Callable[[], object], seconds: float,
              every: float = 2.0) -> bool:  # fmt: skip
        """Attempt something until what is looked for is found, or time is up."""
        deadline = self.station.machine.deadline(seconds)
        while self.station.machine.alive:
            attempt()
            if self.until(found, every):
                return True
            if deadline.remaining() <= 0:
                return False
        return False

    # -- packets ----------------------------------------------------------------------------------

    def own(self, host: Host) -> str:
        """The router's address as a host sees it."""
        key = host.net.name
        return self.model.uplink if key == WORLD else NETS[key].own

    def router(self, host: Host) -> str:
        """The router's MAC on a host's network."""
        own = self.own(host)
        fault = f"nobody answers ARP for {own} on {host.net.name}"
        assert self.again(lambda: own in host.neighbours or host.ask(own),
                          lambda: own in host.neighbours, START), fault  # fmt: skip
        return host.neighbours[own]

    def ping(self, host: Host, target: str, seconds: float = 0.0, source: str = "",
             mac: str = "") -> bool:  # fmt: skip
        """Whether a ping is answered with what it carries."""
        data, place = secrets.token_bytes(24), mark()
        ident = secrets.randbelow(65536)
        packet = echo(source or host.address, target, ident, 1, data)

        def attempt() -> None:
            own = self.own(host)
            if own not in host.neighbours and not mac:
                host.ask(own)
            to = mac or host.neighbours.get(own)
            if to:
                host.put(packet, to)

        def found() -> bool:
            return any(
                one.net is host.net and (p := one.packet) and p.protocol == ICMP
                and p.body[:1] == b"\0" and p.body[8:] == data
                and (p.source, p.target) == (target, source or host.address)
                for one in since(place)
            )  # fmt: skip

        return self.again(attempt, found, self.patience(seconds))

    def probe(self, protocol: str, source: str, target: str, port: int, own: int = 0) -> Probe:
        """The first packet of a connection, that can be known again."""
        own = own or self.draw.randrange(20_000, 60_000)
        if protocol == "udp":
            token = secrets.token_bytes(16)
            return Probe(token, protocol, udp(source, own, target, port, token))
        number = secrets.randbits(32)
        segment = Segment(own, port, number, 0, SYN)
        return Probe(number.to_bytes(4, "big"), protocol, segment.pack(source, target))

    def seen(self, probe: Probe, place: int) -> list[tuple[Seen, Packet]]:
        """Where a probe came out."""
        return [
            (one, packet) for one in since(place)
            if (packet := one.packet) and probe.is_in(packet) and packet.protocol != ICMP
        ]  # fmt: skip

    def behind(self, host: Host) -> None:
        """What a host has sent had its time, and what came of it was seen: pings that were sent
        after it are answered on its own cable and on the other."""
        near = self.spare.get(host.net.name, host)
        far = self.spare["one"] if host.net.name == WORLD else self.world
        for one in (near, far):
            if self.own(one):
                own, net = self.own(one), one.net.name
                assert self.ping(one, own), f"{own} answers no ping on {net}"

    def outcome(self, host: Host, probe: Probe, wanted: Out | None, place: int) -> str:
        """What is wrong with where a probe came out; \"\" for nothing."""
        found = self.seen(probe, place)
        what = f"{probe.protocol} from {probe.packet.source} ({host.net.name}) to "
        what += f"{probe.packet.target}:{ports(probe.packet)[1]}"
        if wanted is None:
            if found:
                one, packet = found[0]
                return f"{what} came out on {one.net.name}, to {packet.target}, and was not to"
            return ""
        for one, packet in found:
            if (one.net.name, packet.target, ports(packet)[1]) == (
                wanted.net, wanted.target, wanted.port
            ) and wanted.source in ("", packet.source):  # fmt: skip
                return ""
            return (
                f"{what} came out on {one.net.name}, from {packet.source} to "
                f"{packet.target}:{ports(packet)[1]}, not {wanted}"
            )
        return f"{what} did not come out as {wanted}"

    def flow(self, host: Host, protocol: str, target: str, port: int, source: str = "",
             seconds: float = 0.0, own: int = 0) -> Probe | None:  # fmt: skip
        """Open a connection, and compare where it comes out with the model; the probe that did."""
        source = source or host.address
        wanted = self.model.opens(host.net.name, source, protocol, target, port)
        deadline, fault = self.station.machine.deadline(self.patience(seconds)), ""
        while self.station.machine.alive:
            place = mark()
            probe = self.probe(protocol, source, target, port, own)
            fault = self._attempt(host, probe, wanted, place)
            if not fault:
                return probe if wanted else None
            if deadline.remaining() <= 0:
                break
            # Few tries of what may not pass: a limit could end what ought never to have begun.
            time.sleep(0.2 if wanted else self.patience(seconds) / 4)
        raise AssertionError(fault or "the router does not run any more")

    def _attempt(self, host: Host, probe: Probe, wanted: Out | None, place: int) -> str:
        mac = self.router(host)
        if wanted:
            self.again(lambda: host.put(probe.packet, mac), lambda: self.seen(probe, place), 5, 1.5)
        else:
            # Twice: the first may have waited for the address of a card.
            for _ in range(2):
                host.put(probe.packet, mac)
                self.behind(host)
        return self.outcome(host, probe, wanted, place)

    def answered(self, host: Host, probe: Probe, place: int = 0) -> bytes:
        """What the other side answers comes back to who opened the connection; what that was."""
        fault = f"no answer came back to {probe.packet.source} ({host.net.name})"
        token, came = secrets.token_bytes(16), []

        def attempt() -> None:
            found = self.seen(probe, place)
            if not found:
                return
            one, packet = found[-1]
            if self.at(one.net, packet.source) is host:
                return  # the two would talk past the router
            self.whose(one.net, packet.target).put(reply(packet, token), one.frame.source)

        def found() -> bool:
            came[:] = [
                packet for one in since(place)
                if one.net is host.net and (packet := one.packet)
                and packet.target == probe.packet.source and is_reply(packet, token)
            ]  # fmt: skip
            return bool(came)

        assert self.again(attempt, found, self.patience()), fault
        packet = came[0]
        assert packet.source == probe.packet.target, (
            f"an answer to {probe.packet.target} came back from {packet.source}"
        )
        assert ports(packet) == ports(probe.packet)[::-1], f"{fault} at its port"
        return token

    def exchange(self, host: Host, protocol: str, target: str, port: int, **how) -> Probe | None:
        """`flow`, and the answer to it."""
        place = mark()
        probe = self.flow(host, protocol, target, port, **how)
        if probe:
            self.answered(host, probe, place)
        return probe

    def talk(self, host: Host, protocol: str, target: str, port: int, **how) -> Talk:
        """A connection that is open from both sides."""
        place = mark()
        probe = self.flow(host, protocol, target, port, **how)
        assert probe, "the order has it that this is never opened"
        token = self.answered(host, probe, place)
        there = self.seen(probe, place)[-1]
        other = self.whose(there[0].net, there[1].target)
        return Talk(self, host, probe, there, other, token)

    def at(self, net: Net, address: str) -> Host | None:
        """The host of a network that has an address."""
        hosts = [one for one in net.hosts if isinstance(one, Host)]
        return next((one for one in hosts if one.address == address), None)

    def again_placed(self, host: Host) -> Host:
        """The one that stands where this one did, after the file was written again."""
        return self.at(host.net, host.address) or host

    def registers(self, packet: Packet, port: int, data: bytes) -> bytes | None:
        """The register hears whatever it is told."""
        words = data[:300].split()
        if packet.target != AXES["register_host"] or len(words) < 3:
            return None
        return b"OK " + words[2]

    def whose(self, net: Net, address: str) -> Host:
        return self.at(net, address) or self.world

    # -- services ---------------------------------------------------------------------------------

    def names(self, host: Host, name: str, kind: int = 1, server: str = "",
              seconds: float = 0.0) -> tuple[int, list[str]] | None:  # fmt: skip
        """What the router says to a question: (code, addresses or names)."""
        server = server or self.own(host)
        number, own, place = secrets.randbelow(65536), self.draw.randrange(20_000, 60_000), mark()
        packet = udp(host.address, own, server, 53, question(number, name, kind))
        mac, got = self.router(host), []

        def found() -> bool:
            for one in since(place):
                if one.net is not host.net or not (p := one.packet):
                    continue
                data = read_udp(p)
                if (p.source, p.target) == (server, host.address) and data:
                    said = read_answer(data[2], number) if data[:2] == (53, own) else None
                    if said:
                        got.append(said)
            return bool(got)

        self.again(lambda: host.put(packet, mac), found, self.patience(seconds), 4)
        return got[0] if got else None

    def resolves(self, host: Host, name: str, code: int, said: list[str], kind: int = 1,
                 seconds: float = 0.0, server: str = "") -> None:  # fmt: skip
        """A question has this answer, at last."""
        got: list = [None]
        deadline = self.station.machine.deadline(self.patience(seconds))
        while True:
            got = [self.names(host, name, kind, server, 10)]
            if got[0] is not None and (got[0][0], sorted(got[0][1])) == (code, sorted(said)):
                return
            if deadline.remaining() <= 0 or not self.station.machine.alive:
                break
            time.sleep(0.3)
        raise AssertionError(
            f"{name} (kind {kind}) on {host.net.name}: {got[0]}, and {(code, said)} is due"
        )

    def lease(self, key: str, mac: str, seconds: float = 0.0, **how) -> DhcpMessage | None:
        """A whole conversation of a client with the router; None where it is offered nothing."""
        return Client(self, self.nets[key], mac).lease(self.patience(seconds), **how)


def ports(packet: Packet) -> tuple[int, int]:
    if packet.protocol not in (TCP, UDP) or len(packet.body) < 4:
        return 0, 0
    return struct.unpack(">HH", packet.body[:4])


def reply(packet: Packet, token: bytes) -> Packet:
    """What the one that a packet came to answers."""
    own, to = ports(packet)
    if packet.protocol == UDP:
        return udp(packet.target, to, packet.source, own, token)
    number = (int.from_bytes(packet.body[4:8], "big") + 1) & 0xFFFFFFFF
    segment = Segment(to, own, int.from_bytes(token[:4], "big"), number, SYN | 16)
    return segment.pack(packet.target, packet.source)


def is_reply(packet: Packet, token: bytes) -> bool:
    if packet.protocol == TCP:
        return packet.body[4:8] == token[:4]
    return packet.protocol == UDP and token in packet.body

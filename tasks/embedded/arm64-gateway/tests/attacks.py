"""What a hostile peer tries, on both sides, and what of it must have no effect."""

from __future__ import annotations

import secrets
import struct
import time

from bench import Bench
from dhcp import CLASSLESS, DOMAIN, MTU, NAME, NTP, STATIC
from frames import ICMP, SYN, TCP, UDP, Packet, Segment, echo, ip_bytes, read_udp, udp
from hosts import Host
from names import Reply, answer, question
from site_data import port, word

CLOSED_TCP = (21, 22, 23, 53, 80, 443, 2601, 7710, 8080)
CLOSED_UDP = (53, 67, 69, 123, 161, 514, 7710)


# ---- the carrier that wants more than it is asked for ------------------------------------------


def unasked(bench: Bench) -> dict[int, bytes]:
    """Options that nobody wants: names, routes by way of a stranger, a smaller MTU."""
    world = ip_bytes(bench.drawn.world)
    stranger = ip_bytes(bench.drawn.stranger)
    local = ip_bytes(str(bench.site.net[0]))
    return {
        NAME: b"owned$(touch${IFS}/run/owned)", DOMAIN: b"evil.test;touch /run/owned",
        MTU: struct.pack(">H", 600), STATIC: world + stranger, NTP: stranger,
        CLASSLESS: b"\x20" + world + stranger + b"\x18" + local[:3] + stranger,
    }  # fmt: skip


def nothing_was_obeyed(bench: Bench) -> None:
    said = bench.say("hostname; test -e /run/owned && echo owned; cat /sys/class/net/*/mtu")
    lines = said.split()
    assert lines[0] == bench.site.name, "the carrier named the gateway"
    assert "owned" not in lines, "a word of the carrier's was run as a command"
    assert "600" not in lines, "the carrier's MTU is in force"
    # Routes: a packet to the world and the way to the local side, as they were.
    assert bench.ping(bench.pc, bench.drawn.world), "the world is reached another way"
    assert bench.ping(bench.pc, bench.site.own), "the local side is not reached any more"
    assert not bench.peer.received(lambda packet: packet.target == bench.drawn.world)
    assert not bench.faults, bench.faults


# ---- from the local side -----------------------------------------------------------------------


def foreign_sources_stay(bench: Bench, data: bytes) -> None:
    mark, mac = bench.wan.count, bench.macs["lan"]
    last = bench.site.net[-1]
    for source in (bench.drawn.other, bench.drawn.given, str(last + 9), "127.0.0.1", "10.255.1.2"):
        bench.pc.put(udp(source, port(), bench.drawn.world, port(), data), mac)
        bench.pc.put(echo(source, bench.drawn.world, 7, 7, data), mac)
    assert bench.ping(bench.pc, bench.drawn.world), "nothing is forwarded any more"
    assert not bench.seen(bench.wan, mark, data), "another network's source was forwarded"


def refused_or_silent(bench: Bench) -> list[str]:
    """What of the closed ports is open on the local side."""
    found = []
    wanted = [at for at in CLOSED_TCP if at not in (53, 80)]
    tried = {}
    for at in wanted:
        own = bench.pc.port()
        tried[at] = own
        syn = Segment(own, at, secrets.randbelow(1 << 31), 0, SYN)
        bench.pc.put(syn.pack(bench.pc.address, bench.site.own), bench.macs["lan"])
    asked = {bench.pc.port(): at for at in (69, 123, 161, 514)}
    for own, at in asked.items():
        data = b"\x1b" + bytes(47)
        bench.pc.put(udp(bench.pc.address, own, bench.site.own, at, data), bench.macs["lan"])
    assert bench.ping(bench.pc, bench.site.own), "the gateway does not answer ping"
    bench.pause(2)
    for packet in bench.pc.received(lambda p: p.protocol == UDP):
        datagram = read_udp(packet)
        if datagram and datagram[1] in asked:
            found.append(f"udp {asked[datagram[1]]}")
    for at, own in tried.items():
        for packet in bench.pc.received(lambda p: p.protocol == TCP):
            segment = Segment.read(packet)
            if segment and (segment.port, segment.to) == (at, own) and segment.flags & SYN:
                found.append(f"tcp {at}")
    return found


# ---- from the carrier's side -------------------------------------------------------------------


def silence(bench: Bench, host: Host, target: str, tcp: tuple[int, ...], ports: tuple[int, ...],
            source: str = "") -> None:  # fmt: skip
    """Nothing comes back but the answer to a ping that is sent last."""
    mac = bench.mac_of(host)
    source = source or host.address
    mark = host.cable.count
    for at in tcp:
        for flags in (SYN, 16, 1, 4 | 16):
            segment = Segment(host.port(), at, secrets.randbelow(1 << 31), 1, flags)
            host.put(segment.pack(source, target), mac)
    for at in ports:
        data = question(7, "plant") if at == 53 else b"\x1b" + bytes(47)
        host.put(udp(source, host.port(), target, at, data), mac)
    for kind in (13, 15, 17, 5):
        body = bytes([kind, 0]) + bytes(18)
        host.put(Packet(source, target, ICMP, body), mac)
    host.put(Packet(source, target, 47, bytes(8)), mac)
    assert bench.ping(host, bench.drawn.given), "the gateway does not answer ping there"
    bench.pause(2)
    for packet in bench.packets(host.cable, mark):
        if packet.target == source and not packet.body.startswith(b"\0\0"):
            raise AssertionError(
                f"an answer of protocol {packet.protocol}: {packet.body[:8].hex()}"
            )


def local_targets(bench: Bench, data: bytes) -> None:
    """The gateway's and other addresses of the local side, sent to the card of the other side."""
    mac, mark = bench.macs["wan"], bench.lan.count
    wan_mark = bench.wan.count
    last = str(bench.site.net[77])
    for target in (bench.site.own, bench.plc.address, bench.pc.address, last, "127.0.0.1",
                   str(bench.site.net[255]), bench.drawn.world):  # fmt: skip
        for at in (53, 80, 7710, 9):
            bench.peer.put(udp(bench.peer.address, port(), target, at, data), mac)
            syn = Segment(bench.peer.port(), at, 9, 0, SYN)
            bench.peer.put(syn.pack(bench.peer.address, target), mac)
        bench.peer.put(echo(bench.peer.address, target, 9, 9, data), mac)
    assert bench.ping(bench.peer, bench.drawn.given)
    bench.pause(2)
    assert not bench.seen(bench.lan, mark, data), "it reached the local side"
    strangers = [one for one in bench.packets(bench.lan, mark) if one.source == bench.peer.address]
    assert not strangers, "connections reached the local side"
    answered = bench.packets(bench.wan, wan_mark)
    back = [one for one in answered if one.target == bench.peer.address]
    back = [one for one in back if one.protocol in (TCP, UDP)]
    assert not back, "the gateway answered at an address of the local side"
    assert not bench.seen(bench.wan, wan_mark, data), "it was sent back or answered"


def lying_sources(bench: Bench, data: bytes) -> None:
    mac, mark = bench.macs["wan"], bench.lan.count
    wan_mark = bench.wan.count
    taken = bench.site.forwards[1]
    for source in (bench.plc.address, bench.pc.address, bench.site.own, "127.0.0.1"):
        bench.peer.put(udp(source, 53, bench.drawn.given, taken[1], data), mac)
        bench.peer.put(echo(source, bench.drawn.given, 5, 5, data), mac)
        bench.peer.put(udp(source, 68, bench.site.own, 53, question(3, "plant") + data), mac)
        bench.peer.put(udp(source, 9, bench.plc.address, 9, data), mac)
    assert bench.ping(bench.peer, bench.drawn.given)
    bench.pause(1)
    assert not bench.seen(bench.lan, mark, data), "a packet with a local source came through"
    assert not bench.seen(bench.wan, wan_mark, data), "a packet with a local source was answered"


def arp(bench: Bench) -> None:
    """Each side asks for the other side's addresses, and for the gateway's own."""
    for host, own, others in (
        (bench.peer, bench.drawn.given, (bench.site.own, bench.plc.address, bench.drawn.world)),
        (bench.pc, bench.site.own, (bench.drawn.given, bench.drawn.router, bench.plc.address)),
    ):
        host.neighbours.clear()
        for other in others:
            host.ask_arp(other)
        # Again from an address that is the gateway's neighbour on its other card.
        host.ask_arp(others[0], sender=others[1])
        bench.again(lambda: host.ask_arp(own), lambda: own in host.neighbours, 15)  # noqa: B023
        assert own in host.neighbours, f"no answer for {own}"
        bench.pause(1)
        said = [other for other in others if other in host.neighbours]
        assert not said, f"it answers ARP for {said}, which is not its address there"


def many_pings(bench: Bench) -> None:
    """A burst as one stream: between the least that is promised and the most that is allowed."""
    data, host = secrets.token_bytes(16), bench.peer
    bench.pause(2)
    began = time.monotonic()
    sent = 0
    while time.monotonic() - began < 6:
        for _ in range(10):
            sent += 1
            host.put(echo(host.address, bench.drawn.given, 77, sent & 0xFFFF, data),
                     bench.macs["wan"])  # fmt: skip
        time.sleep(0.1)
    bench.pause(2)
    took = time.monotonic() - began
    answers = host.received(lambda p: p.protocol == ICMP and p.body[8:] == data)
    assert len(answers) <= 10 + 10 * (took + 1), f"{len(answers)} answers in {took:.0f} s"
    assert len(answers) >= 20, f"{len(answers)} answers to {sent} pings in 6 s"
    assert bench.ping(host, bench.drawn.given), "no answer after a burst"


def forged_answers(bench: Bench) -> None:
    """Answers that come before the true one: from a stranger, with another number, as a router."""
    name, lie = f"{word(9)}.net", bench.drawn.stranger
    bench.zone.records[name] = ([bench.drawn.world], 300)

    def forge(peer: str, at: int, data: bytes) -> None:
        asked = Reply.read(data)
        if asked is None or asked.name != name:
            return
        false = answer(data, asked, [lie], 300)
        other = struct.pack(">H", asked.number ^ 0x1111) + false[2:]
        mac = bench.macs["wan"]
        bench.router.put(udp(bench.drawn.names, 53, peer, at, other), mac)
        bench.peer.put(udp(lie, 53, peer, at, false), mac)
        bench.router.put(udp(bench.drawn.router, 53, peer, at, false), mac)
        bench.router.put(udp(bench.drawn.names, 5353, peer, at, false), mac)

    bench.zone.before = forge
    for _ in range(2):
        reply = bench.resolve(name)
        assert reply is not None and reply.addresses == (bench.drawn.world,), reply
    bench.zone.before = lambda peer, at, data: None


def beside_the_doors(bench: Bench) -> None:
    """Ports next to those that are forwarded, and the protocol that is not."""
    taken = {(proto, at) for proto, at, _, _ in bench.site.forwards}
    tcp = {at + step for _, at, _, _ in bench.site.forwards for step in (-1, 0, 1)}
    inside = {to for _, _, _, to in bench.site.forwards}
    closed_tcp = tuple(at for at in tcp | inside if ("tcp", at) not in taken)
    closed_udp = tuple(at for at in tcp | inside if ("udp", at) not in taken)
    mark = bench.lan.count
    silence(bench, bench.peer, bench.drawn.given, closed_tcp, closed_udp)
    caller = bench.peer.address
    packets = bench.packets(bench.lan, mark)
    assert not [one for one in packets if one.source == caller], "more is open"

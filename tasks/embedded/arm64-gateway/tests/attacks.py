"""What a hostile peer tries, on both sides, and what of it must have no effect."""

from __future__ import annotations

import ipaddress
import re
import secrets
import struct
import time

from bench import Bench
from hosts import Host
from names import AAAA, PTR, SRV, TXT, A, Reply, answer, question
from site_data import PRIVATE, port, private, public, within, word

from benchflow.bench.dhcp_message import CLASSLESS, DOMAIN, MTU, NAME, NTP, STATIC
from benchflow.bench.ethernet import (
    ACK,
    BROADCAST,
    FIN,
    ICMP,
    IPV4,
    IPV6,
    PSH,
    RST,
    SYN,
    TCP,
    UDP,
    Frame,
    Packet,
    Segment,
    echo,
    ip_bytes,
    read_udp,
    udp,
)

OFTEN = (21, 22, 23, 53, 67, 68, 69, 80, 111, 123, 161, 443, 514, 1900, 2323, 2601, 4444, 5353,
         7710, 8080, 31337)  # fmt: skip
DRAWN_PORTS = 100
LOCAL = re.compile(r"[0-9A-F]{8}:[0-9A-F]{4}")  # address and port, as the kernel lists them
BUNCH = 64
ASKED = b"\x1b" + bytes(47)  # a question of several protocols, of NTP for one
ODD_ICMP = (13, 15, 17)  # what time is it, who are you, what is your mask
ODD_PROTOCOLS = (2, 4, 41, 47, 50, 132)
PINGED = 6


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
    name = bench.host_name()
    assert name == bench.site.name, f"[R16] nothing else: the carrier named the gateway {name!r}"
    owned = bench.run("[ -e /run/owned ]").status == 0
    assert not owned, "[R16] nothing else: a word of the carrier's was run as a command"
    # A packet of full size goes out whole: the carrier's smaller MTU is not in force.
    word, mark, mac = secrets.token_bytes(1200), bench.wan.count, bench.macs["lan"]
    big = udp(bench.pc.address, port(), bench.drawn.other, port(), word)
    whole = bench.again(
        lambda: bench.pc.put(big, mac), lambda: bench.seen(bench.wan, mark, word), 15
    )
    assert whole, "[R16] nothing else: the carrier's MTU is in force"
    # Routes: a packet to the world and the way to the local side, as they were.
    assert bench.ping(bench.pc, bench.drawn.world), "[R16] the world is reached another way"
    assert bench.ping(bench.pc, bench.site.own), "[R16] the local side is not reached any more"
    strayed = bench.peer.received(lambda packet: packet.target == bench.drawn.world)
    assert not strayed, "[R16] nothing else: the carrier's route to a stranger is in force"


# ---- from the local side -----------------------------------------------------------------------


def foreign_sources_stay(bench: Bench, data: bytes) -> None:
    mark, mac = bench.wan.count, bench.macs["lan"]
    beside = str(bench.site.net[-1] + 9)
    for source in (bench.drawn.other, bench.drawn.given, beside, "127.0.0.1", "10.255.1.2"):
        if ipaddress.IPv4Address(source) in bench.site.net:
            continue
        bench.pc.put(udp(source, port(), bench.drawn.world, port(), data), mac)
        bench.pc.put(echo(source, bench.drawn.world, 7, 7, data), mac)
        syn = Segment(bench.pc.port(), port(), 9, 0, SYN | PSH, data)
        bench.pc.put(syn.pack(source, bench.drawn.world), mac)
    assert bench.ping(bench.pc, bench.drawn.world), "nothing is forwarded any more"
    assert not bench.seen(bench.wan, mark, data), "[R19] another network's source was forwarded"


def dying_packets_stay(bench: Bench, data: bytes) -> None:
    """What has no time left when it is counted down goes nowhere."""
    mark, mac = bench.wan.count, bench.macs["lan"]
    bench.pc.put(udp(bench.pc.address, port(), bench.drawn.world, port(), data, ttl=1), mac)
    assert bench.ping(bench.pc, bench.drawn.world), "nothing is forwarded any more"
    assert not bench.seen(bench.wan, mark, data), "[R18] counted down by one: it went on with 0"


def version_six(bench: Bench) -> None:
    """IPv6 from both sides, of which nothing may come out: see what `Bench` watches for."""
    local = b"\xfe\x80" + bytes(13)
    ping = b"\x60\0\0\0\0\x08\x3a\x40" + local + b"\1" + local + b"\2" + b"\x80" + bytes(7)
    for cable, host, card in ((bench.lan, bench.pc, "lan"), (bench.wan, bench.peer, "wan")):
        for target in (bench.macs[card], "33:33:00:00:00:01", BROADCAST):
            cable.send(Frame(target, host.mac, IPV6, ping))


def open_on_the_local_side(bench: Bench) -> list[str]:
    """What answers there that has no word in the order: of TCP, UDP, ICMP and other protocols."""
    tcp, datagrams = listeners(bench)
    asked_tcp = {bench.pc.port(): at for at in some_ports(tcp) - {53, 80}}
    asked_udp = {bench.pc.port(): at for at in some_ports(datagrams) - {53, 67, 7710}}
    own, mine, mac = bench.site.own, bench.pc.address, bench.macs["lan"]
    mark = bench.lan.count
    knocks = [Segment(me, at, secrets.randbelow(1 << 31), 0, SYN).pack(mine, own)
              for me, at in asked_tcp.items()]  # fmt: skip
    knocks += [udp(mine, me, own, at, ASKED) for me, at in asked_udp.items()]
    knocks += [Packet(mine, own, ICMP, bytes([kind, 0]) + bytes(18)) for kind in ODD_ICMP]
    knocks += [Packet(mine, own, kind, bytes(20)) for kind in ODD_PROTOCOLS]
    _put_all(bench, bench.pc, knocks, own, mac)
    bench.pause(2)
    found = []
    for packet in bench.packets(bench.lan, mark):
        if packet.target != mine:
            continue
        segment, datagram = Segment.read(packet), read_udp(packet)
        if segment and segment.flags & SYN and segment.to in asked_tcp:
            found.append(f"tcp {segment.port}")
        elif datagram and datagram[1] in asked_udp:
            found.append(f"udp {datagram[0]}")
        elif packet.protocol == ICMP and packet.body[:1] in (b"\x0e", b"\x10", b"\x12"):
            found.append(f"icmp {packet.body[0]}")
        elif packet.protocol in ODD_PROTOCOLS:
            found.append(f"protocol {packet.protocol}")
    return sorted(set(found))


def listeners(bench: Bench) -> tuple[set[int], set[int]]:
    """The TCP and UDP ports at which, by its kernel, anything of the gateway listens."""
    said = bench.run("for k in tcp udp udplite; do echo = $k; cat /proc/net/$k; done 2>/dev/null")
    found: dict[str, set[int]] = {"tcp": set(), "udp": set(), "udplite": set()}
    kind = "tcp"
    for row in (line.split() for line in said.stdout.splitlines()):
        if row[:1] == ["="] and row[-1] in found:
            kind = row[-1]
        elif len(row) > 3 and LOCAL.fullmatch(row[1]) and (kind != "tcp" or row[3] == "0A"):
            found[kind].add(int(row[1][9:], 16))
    return found["tcp"], found["udp"] | found["udplite"]


def some_ports(known: set[int]) -> set[int]:
    """Those of which one knows, those where something often is, and as many drawn ones."""
    return known | set(OFTEN) | {1 + secrets.randbelow(65535) for _ in range(DRAWN_PORTS)}


def _put_all(bench: Bench, host: Host, packets: list[Packet], target: str, mac: str) -> None:
    """Send many packets, in bunches that no queue on the way loses; each is followed by a ping."""
    for at in range(0, len(packets), BUNCH):
        for packet in packets[at : at + BUNCH]:
            host.put(packet, mac)
        assert bench.ping(host, target), f"the gateway does not answer ping at {target}"


# ---- from the carrier's side -------------------------------------------------------------------


def silence(bench: Bench, host: Host, target: str, tcp: set[int], ports: set[int]) -> None:
    """Nothing comes back to this host but answers to pings."""
    mac, source = bench.mac_of(host), host.address
    mark = host.cable.count
    some = secrets.SystemRandom().sample(sorted(tcp), min(8, len(tcp)))
    knocks = [Segment(host.port(), at, secrets.randbelow(1 << 31), 1, SYN).pack(source, target)
              for at in tcp]  # fmt: skip
    knocks += [Segment(host.port(), at, 77, 1, flags).pack(source, target)
               for at in some for flags in (ACK, FIN, FIN | PSH | 32, RST | ACK, 0)]  # fmt: skip
    knocks += [udp(source, host.port(), target, at, question(7, "plant") if at == 53 else ASKED)
               for at in ports]  # fmt: skip
    knocks += [Packet(source, target, ICMP, bytes([kind, 0]) + bytes(18)) for kind in ODD_ICMP]
    knocks += [Packet(source, target, kind, bytes(20)) for kind in ODD_PROTOCOLS]
    _put_all(bench, host, knocks, bench.drawn.given, mac)
    bench.pause(2)
    for packet in bench.packets(host.cable, mark):
        if packet.target == source and not (packet.protocol == ICMP and packet.body[:1] == b"\0"):
            raise AssertionError(
                f"[R22] silent, not even with a refusal: an answer of protocol {packet.protocol}, "
                f"which begins with {packet.body[:8].hex()}"
            )


def silent_everywhere(bench: Bench) -> None:
    """Ports where the gateway has something, those of its local side, and drawn ones."""
    tcp, datagrams = listeners(bench)
    doors = {(proto, at) for proto, at, _, _ in bench.site.forwards}
    closed_tcp = {at for at in some_ports(tcp) if ("tcp", at) not in doors}
    closed_udp = {at for at in some_ports(datagrams) if ("udp", at) not in doors}
    silence(bench, bench.peer, bench.drawn.given, closed_tcp, closed_udp)


def local_targets(bench: Bench, data: bytes) -> None:
    """The gateway's and other addresses of the local side, sent to the card of the other side."""
    mac, mark = bench.macs["wan"], bench.lan.count
    wan_mark = bench.wan.count
    for target in (bench.site.own, bench.plc.address, bench.pc.address, bench.site.free(),
                   "127.0.0.1", str(bench.site.net[-1]), bench.drawn.world):  # fmt: skip
        for at in (53, 80, 7710, 9):
            bench.peer.put(udp(bench.peer.address, port(), target, at, data), mac)
            syn = Segment(bench.peer.port(), at, 9, 0, SYN)
            bench.peer.put(syn.pack(bench.peer.address, target), mac)
        bench.peer.put(echo(bench.peer.address, target, 9, 9, data), mac)
    assert bench.ping(bench.peer, bench.drawn.given)
    bench.pause(2)
    assert not bench.seen(bench.lan, mark, data), "[R24] no effect: it reached the local side"
    strangers = [one for one in bench.packets(bench.lan, mark) if one.source == bench.peer.address]
    assert not strangers, "[R24] no effect: connections reached the local side"
    answered = bench.packets(bench.wan, wan_mark)
    back = [one for one in answered if one.target == bench.peer.address]
    back = [one for one in back if one.protocol in (TCP, UDP)]
    assert not back, "[R24] no effect: the gateway answered at an address of the local side"
    assert not bench.seen(bench.wan, wan_mark, data), "[R24] it was sent back or answered"


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
    assert not bench.seen(bench.lan, mark, data), "[R24] a local source came through"
    assert not bench.seen(bench.wan, wan_mark, data), "[R24] a local source was answered"


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
        assert own in host.neighbours, f"[R24] ARP for its own address: no answer for {own}"
        bench.pause(1)
        said = [other for other in others if other in host.neighbours]
        assert not said, f"[R24] and for no other: it answers ARP for {said}"


def many_pings(bench: Bench, senders: list[str]) -> None:
    """A hundred pings in a second for a while, by one sender as one stream or by many: between the
    least that is promised and the most that is allowed."""
    data, host = secrets.token_bytes(16), bench.peer
    bench.pause(2)
    mark, came = bench.wan.count, []

    def note(frame: Frame) -> None:
        packet = Packet.read(frame.body) if frame.kind == IPV4 else None
        if packet and packet.protocol == ICMP and packet.body[8:] == data and not packet.body[0]:
            came.append(time.monotonic())

    bench.wan.watchers.append(note)
    began, sent = time.monotonic(), 0
    while time.monotonic() - began < PINGED:
        for _ in range(10):
            source = senders[sent % len(senders)]
            ident = 77 if len(senders) == 1 else sent & 0xFFFF
            host.put(echo(source, bench.drawn.given, ident, sent & 0xFFFF, data), bench.macs["wan"])
            sent += 1
        time.sleep(0.1)
    bench.pause(2)
    bench.wan.watchers.remove(note)
    assert bench.wan.count > mark and came, f"[R23] no answer to {sent} pings in {PINGED} s"
    # Ten for each second and ten for a burst; a second more, for what came late on the way.
    most = 10 + 10 * (came[-1] - came[0] + 1)
    whose = f"{len(senders)} sender{'s' * (len(senders) > 1)}"
    assert len(came) <= most, (
        f"[R23] at most 10 in a second, 10 more in a burst: {len(came)} answers to {whose} in "
        f"{came[-1] - came[0]:.1f} s"
    )
    assert len(came) >= 3.5 * PINGED, (
        f"[R23] at least 5 in a second: {len(came)} answers to {sent} pings of {whose} in "
        f"{PINGED} s"
    )


def pings(bench: Bench) -> None:
    many_pings(bench, [bench.peer.address])
    many = [bench.drawn.world, bench.drawn.other, bench.drawn.third, *public(5)]
    many_pings(bench, many)
    assert bench.ping(bench.peer, bench.drawn.given), "[R22] ping: no answer after a burst"


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
    """Ports next to those that are forwarded, those behind them, and the protocol that is not."""
    taken = {(proto, at) for proto, at, _, _ in bench.site.forwards}
    near = {at + step for _, at, _, _ in bench.site.forwards for step in (-1, 0, 1)}
    near |= {to for _, _, _, to in bench.site.forwards}
    closed = [{at for at in near if (proto, at) not in taken} for proto in ("tcp", "udp")]
    mark = bench.lan.count
    silence(bench, bench.peer, bench.drawn.given, *closed)
    packets = bench.packets(bench.lan, mark)
    through = [one for one in packets if one.source == bench.peer.address]
    assert not through, f"[R26] nothing else gets in: {through[0].protocol} to {through[0].target}"


def private_answers(bench: Bench) -> None:
    """Answers that name an address inside, alone, beside a good one, or by way of an alias."""
    inside = [*private(), bench.plc.address, bench.site.own]
    for number, address in enumerate(inside):
        name = f"{word(9)}.com"
        addresses = [address] if number % 3 else [bench.drawn.other, address]
        bench.zone.records[name] = (addresses, 60)
        if number % 3 == 2:
            bench.zone.aliases[name] = f"{word()}.{word()}.net"
        reply = bench.resolve(name, seconds=8)
        got = set(reply.addresses) - {bench.drawn.other} if reply else set()
        assert not got, f"[R21] never reach the local side: {name} is {sorted(got)}"
    for alias in ("", f"{word()}.net"):
        good = f"{word(9)}.com"
        bench.zone.records[good] = ([bench.drawn.other], 60)
        if alias:
            bench.zone.aliases[good] = alias
        reply = bench.resolve(good)
        assert reply is not None and reply.addresses == (bench.drawn.other,), (
            f"[R20] names of the world: {good} is {bench.drawn.other}, the answer was {reply}"
        )


def local_names(bench: Bench) -> None:
    """Questions of several kinds about the plant and private addresses, which nobody else sees."""
    below = [f"{word()}.plant", f"{word()}.{word()}.plant", f"{word()}.Plant", f"_x.{word()}.plant"]
    asked = [("plant", A), *zip(below, (A, AAAA, TXT, SRV), strict=True), (f"{word()}.plant", PTR)]
    for net in (*PRIVATE, bench.site.net):
        name = ".".join(reversed(within(net).split("."))) + ".in-addr.arpa"
        asked.append((name, PTR))
    known = {address for _, address, _ in bench.site.hosts} | {bench.site.own}
    for name, kind in asked:
        address = ".".join(reversed(name.removesuffix(".in-addr.arpa").split(".")))
        bench.zone.records[name.lower()] = ([bench.drawn.world], 60)
        reply = bench.resolve(name, kind, seconds=8)
        said = reply.addresses + reply.names if reply else ()
        assert not said or address in known, f"[R13] {name} is nobody's, and is said to be {said}"
        assert not bench.zone.times(name.lower()), f"[R13] never go to the carrier: {name} did"

"""Demands of names and of packets."""

from __future__ import annotations

import secrets
import struct
from dataclasses import replace

import core
from bench import Bench, Probe
from core import name, outside, port, some_doors
from ordered import AXES, NETS, has
from sitefile import BlockLine, HostLine, free_address
from wire import has_mss, mark, since

from benchflow.bench.ethernet import (
    ICMP,
    IPV4,
    SYN,
    TCP,
    Frame,
    Packet,
    checksum,
    summed,
)

PTR = 12
ZONE = AXES["zone"]


def reverse(address: str) -> str:
    return ".".join(reversed(address.split("."))) + ".in-addr.arpa"


# -- names ----------------------------------------------------------------------------------------


def zone(bench: Bench) -> None:
    asker = bench.named("one")
    site = bench.base.copy()
    key = bench.draw.choice([*NETS])
    address = free_address(NETS[key], bench.draw, {one.address for one in site.hosts})
    site.hosts.append(HostLine("newcomer", NETS[key].name, bench.mac(), address))
    bench.resolves(asker, f"newcomer.{ZONE}", 3, [])
    bench.adopt(site)
    for one in site.hosts:
        bench.resolves(asker, f"{one.name}.{ZONE}", 0, [one.address])
        bench.resolves(asker, reverse(one.address), 0, [f"{one.name}.{ZONE}"], PTR)
    bench.resolves(bench.named("three"), f"nobody.{ZONE}", 3, [])


def own_name(bench: Bench) -> None:
    bench.connected()
    own = AXES["own_name"]
    bench.carrier.records[own] = outside(bench)
    asker = bench.named("one")
    for _ in range(2):
        site = bench.base.copy()
        site.doors += some_doors(bench, 2)
        bench.adopt(site)
        bench.resolves(asker, own, 0, [site.doors[0].address])
    other = f"other-{own}"
    bench.carrier.records[other] = outside(bench)
    bench.resolves(asker, other, 0, [bench.carrier.records[other]])
    bench.adopt(bench.base.copy())
    bench.resolves(asker, own, 0, [bench.carrier.records[own]], seconds=90)


def other_zone(bench: Bench) -> None:
    bench.connected()
    one, other = name(bench, AXES["other_zone"]), name(bench)
    bench.carrier.other[one] = outside(bench)
    bench.carrier.records |= {one: outside(bench), other: outside(bench)}
    before = len(bench.carrier.asked)
    bench.resolves(bench.named("one"), one, 0, [bench.carrier.other[one]])
    bench.resolves(bench.named("two"), other, 0, [bench.carrier.records[other]])
    for server, asked, _ in bench.carrier.asked_since(before):
        assert asked != one or server == AXES["other_server"], f"{one} was asked of {server}"
        assert asked != other or server != AXES["other_server"], f"{other} was asked of {server}"


def blocked(bench: Bench) -> None:
    bench.connected()
    some = [name(bench), name(bench, "example.org")]
    site = bench.base.copy()
    site.blocks += [BlockLine(one) for one in some]
    names = [*some, f"www.{some[0]}", f"a.b.{some[1]}"]
    free = [f"x{some[0]}", some[0].partition(".")[2]]
    for one in (*names, *free):
        bench.carrier.records[one] = outside(bench)
    bench.adopt(site)
    before = len(bench.carrier.asked)
    for one in names:
        bench.resolves(bench.named(bench.draw.choice([*NETS])), one, 3, [])
    asked = [one for one in bench.carrier.asked_since(before) if one[1] in names]
    assert not asked, f"{asked[0][0]} was asked about {asked[0][1]}, which is blocked"
    for one in free:
        bench.resolves(bench.named("one"), one, 0, [bench.carrier.records[one]])


def rebind(bench: Bench) -> None:
    bench.connected()
    asker = bench.named("one")
    private = [
        bench.named("one").address, f"10.{bench.draw.randrange(256)}.3.9", "172.31.255.2",
        f"192.168.{bench.draw.randrange(256)}.4",
    ]  # fmt: skip
    for address in private:
        one, good = name(bench), name(bench)
        bench.carrier.records |= {one: address, good: outside(bench)}
        bench.resolves(asker, good, 0, [bench.carrier.records[good]])
        got = bench.names(asker, one, seconds=6)
        assert got is None or not got[1], f"{one} is {got and got[1]}, as the carrier's server says"
    near = name(bench)
    bench.carrier.records[near] = f"172.{bench.draw.choice((15, 32))}.4.4"
    bench.resolves(asker, near, 0, [bench.carrier.records[near]])


def captured(bench: Bench) -> None:
    bench.connected()
    guest, one = bench.named("two"), name(bench)
    bench.carrier.records[one] = outside(bench)
    stranger = outside(bench)
    for server in (stranger, bench.carrier.names[0]):
        bench.resolves(guest, one, 0, [bench.carrier.records[one]], server=server)
    if has("zone"):
        line = bench.model.site.hosts[0]
        bench.resolves(guest, f"{line.name}.{ZONE}", 0, [line.address], server=stranger)
    asked = [each for each in bench.carrier.asked if each[0] == stranger]
    assert not asked, f"a guest's question reached {stranger}"


def private_names(bench: Bench) -> None:
    bench.connected()
    asker, before = bench.named("one"), len(bench.carrier.asked)
    line = bench.model.site.hosts[-1]
    names = [
        f"nobody.{ZONE}", f"x.y.{ZONE}", reverse(line.address), reverse("10.254.253.9"),
        reverse("192.168.7.200"), reverse("172.16.0.9"), reverse("172.31.255.250"),
    ]  # fmt: skip
    for one in names:
        bench.names(asker, one, PTR if one.endswith("arpa") else 1, seconds=4)
    good = name(bench)
    bench.carrier.records[good] = outside(bench)
    bench.resolves(asker, good, 0, [bench.carrier.records[good]])
    for server, asked, _ in bench.carrier.asked_since(before):
        assert asked not in names, f"{server} was asked about {asked}"


# -- packets --------------------------------------------------------------------------------------


def syn(bench: Bench, source: str, target: str, to: int, size: int) -> Probe:
    """A SYN that announces an MSS."""
    number = secrets.randbits(32)
    own = bench.draw.randrange(20_000, 60_000)
    head = struct.pack(">HHIIBBHHH", own, to, number, 0, 0x60, SYN, 16384, 0, 0)
    body = summed(source, target, TCP, head + struct.pack(">BBH", 2, 4, size), 16)
    return Probe(number.to_bytes(4, "big"), "tcp", Packet(source, target, TCP, body,
                                                          dont_fragment=True))  # fmt: skip


def mss(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    largest = int(AXES["mtu"]) - 40
    site = bench.base.copy()
    site.doors += [replace(some_doors(bench, 1)[0], protocol="tcp")]
    bench.adopt(site)
    door = site.doors[0]
    bench.flow(bench.world, "tcp", bench.model.uplink, int(door.port), source=outside(bench))
    for size, due in ((1460, largest), (largest + 1, largest), (700, 700)):
        out = syn(bench, bench.named("one").address, outside(bench), port(bench), size)
        come = syn(bench, outside(bench), bench.model.uplink, int(door.port), size)
        for host, probe in ((bench.named("one"), out), (bench.world, come)):
            place, mac = mark(), bench.router(host)
            assert bench.again(lambda h=host, p=probe, m=mac: h.put(p.packet, m),
                               lambda p=probe, a=place: bench.seen(p, a), 30), (
                f"a SYN from {probe.packet.source} did not pass"
            )  # fmt: skip
            got = has_mss(bench.seen(probe, place)[0][1])
            assert got is not None and (got == due if size == 700 else got <= due), (
                f"a SYN from {probe.packet.source} that announces {size} passed with {got}"
            )
    too_large(bench)


def too_large(bench: Bench) -> None:
    host, size, place = bench.named("one"), int(AXES["mtu"]), mark()
    own, target, to = port(bench), outside(bench), port(bench)
    # With DF: it may not be cut into pieces.
    body = struct.pack(">HHHH", own, to, 1472 + 8, 0) + bytes(1472)
    body = summed(host.address, target, 17, body, 6)
    large = Packet(host.address, target, 17, body, dont_fragment=True)
    mac = bench.router(host)

    def found() -> bool:
        return any(
            one.net is host.net and (p := one.packet) and p.protocol == ICMP
            and p.body[:2] == b"\3\4" and p.body[6:8] == size.to_bytes(2, "big")
            and p.body[28:32] == body[:4] for one in since(place)
        )  # fmt: skip

    assert bench.again(lambda: host.put(large, mac), found, 30), (
        f"a packet of 1500 bytes that may not be cut is not answered by ICMP 3/4 with {size}"
    )


def dscp(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    for key in NETS:
        for mine in (0, 46):
            host, target = bench.named(key), outside(bench)
            probe = bench.probe("udp", host.address, target, port(bench))
            head = bytearray(probe.packet.pack())
            head[1] = mine << 2
            head[10:12] = b"\0\0"
            head[10:12] = checksum(bytes(head[:20])).to_bytes(2, "big")
            frame = Frame(bench.router(host), host.mac, IPV4, bytes(head))
            place = mark()
            assert bench.again(lambda h=host, f=frame: h.net.send(f),
                               lambda p=probe, a=place: bench.seen(p, a), 30), (
                f"a datagram of {host.address} did not leave"
            )  # fmt: skip
            got = bench.seen(probe, place)[0][0].tos >> 2
            due = int(AXES["dscp"]) if key == "three" else 0
            assert got == due, f"a datagram of {NETS[key].name} left with DSCP {got}, not {due}"

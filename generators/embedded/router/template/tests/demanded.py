"""Demands of the carrier, of leases, of what passes and of doors."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

import core
from bench import Bench
from core import outside, port, some_doors
from flood import Flood
from model import WORLD
from ordered import ALLOWED, AXES, NETS, has, verb
from sitefile import free_address
from wire import Host, mark, since

from benchflow.bench.dhcp_message import DOMAIN, NTP
from benchflow.bench.ethernet import ICMP, RST, TCP, Packet, echo

# -- the carrier ----------------------------------------------------------------------------------


def carrier_vlan(bench: Bench) -> None:
    leads_out(bench)


def carrier_mac(bench: Bench) -> None:
    leads_out(bench)


def carrier_class(bench: Bench) -> None:
    leads_out(bench)


def carrier_identifier(bench: Bench) -> None:
    leads_out(bench)


def carrier_host(bench: Bench) -> None:
    leads_out(bench)


def far_gateway(bench: Bench) -> None:
    leads_out(bench)


def leads_out(bench: Bench) -> None:
    """The carrier does what was ordered of it in every check; here is looked at the way out."""
    bench.connected()
    bench.exchange(bench.named("one"), "udp", outside(bench), port(bench))


# -- leases ---------------------------------------------------------------------------------------


def strangers(bench: Bench) -> None:
    stranger, known = bench.mac(), bench.line(bench.named("three"))
    got = bench.lease("three", stranger, 3)
    assert core.given(bench, "three", known.mac) == known.address
    got = got or bench.lease("three", stranger, 1)
    assert got is None, f"a stranger on {NETS['three'].name} was given {got and got.yours}"


def guest_lease(bench: Bench) -> None:
    core.given(bench, "two", bench.mac(), timed=True)
    core.given(bench, "two", bench.line(bench.named("two")).mac, timed=True)


def options(bench: Bench) -> None:
    number = int(AXES["search_option"])
    for key, net in NETS.items():
        said = bench.lease(key, bench.line(bench.named(key)).mac, wanted=(number,))
        assert said, f"a host on {net.name} is offered nothing"
        got = said.addresses(NTP)
        assert got == [net.own], f"a lease on {net.name} says time server {got}, not {net.own}"
        text = said.options.get(number, b"").rstrip(b"\0")
        if key == "three":
            due = AXES["search_text"].encode()
            assert text == due, f"option {number} on {net.name} is {text!r}, not {due!r}"


def domain(bench: Bench) -> None:
    for key, net in NETS.items():
        said = bench.lease(key, bench.line(bench.named(key)).mac)
        assert said, f"a host on {net.name} is offered nothing"
        got = said.options.get(DOMAIN, b"").rstrip(b"\0").decode("ascii", "replace")
        due = AXES["zone"] if key == "one" else ""
        assert got == due, f"a lease on {net.name} names the domain {got!r}, not {due!r}"


# -- walls ----------------------------------------------------------------------------------------


def spoofed(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    for key in NETS:
        host = bench.named(key)
        other = bench.draw.choice([one for one in NETS if one != key])
        for source in (bench.named(other).address, outside(bench)):
            bench.flow(host, "udp", outside(bench), port(bench), source=source)
        place, data = mark(), secrets.token_bytes(20)
        false = echo(bench.named(other).address, NETS[key].own, 7, 1, data)
        host.put(false, bench.router(host))
        assert bench.ping(host, NETS[key].own)
        assert not [one for one in since(place) if data in one.frame.body], (
            f"on {NETS[key].name}, a ping from {false.source} was answered"
        )
    at, to = sorted(ALLOWED)[0]
    third = next(one for one in NETS if one not in (at, to))
    false = bench.named(third).address
    bench.flow(bench.named(at), "tcp", bench.named(to).address, port(bench), source=false)
    site = bench.base.copy()
    site.doors += some_doors(bench, 1)
    bench.adopt(site)
    one = site.doors[0]
    bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port), source=outside(bench))
    source, place = bench.named("one").address, mark()
    probe = bench.probe(one.protocol, source, bench.model.uplink, int(one.port))
    for _ in range(2):
        bench.world.put(probe.packet, bench.router(bench.world))
        bench.behind(bench.world)
    assert not bench.seen(probe, place), f"{source} came in from the uplink, through a door"


def door_limit(bench: Bench) -> None:
    limit = int(AXES["door_limit"])
    bench.connected()
    site = bench.base.copy()
    site.doors += some_doors(bench, 2)
    bench.adopt(site)
    for one in site.doors:
        bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port),
                   source=outside(bench))  # fmt: skip
    passed, taken = 0, 0.0
    for _ in range(4):
        source, place, began = outside(bench), mark(), time.monotonic()
        some = []
        for number in range(3 * limit):
            one = site.doors[number % 2]
            some.append(bench.probe(one.protocol, source, bench.model.uplink, int(one.port)))
        mac = bench.router(bench.world)
        for probe in some:
            bench.world.put(probe.packet, mac)
            time.sleep(0.02)
        bench.behind(bench.world)
        passed, taken = (
            len([1 for probe in some if bench.seen(probe, place)]),
            (time.monotonic() - began),
        )
        if passed >= limit and (passed <= 2 * limit or taken > 45):
            break
    assert passed >= limit, f"of {3 * limit} connections of one address at once, {passed} passed"
    assert passed <= 2 * limit or taken > 45, (
        f"of {3 * limit} connections of one address in {taken:.0f} seconds, {passed} passed"
    )
    for one in site.doors:
        bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port),
                   source=outside(bench))  # fmt: skip


def closed_start(bench: Bench) -> None:
    bench.connected()
    site = bench.base.copy()
    site.doors += some_doors(bench, 3)
    with Flood(bench) as flood:
        bench.adopt(site)
        bench.adopt(bench.base.copy())
        flood.looked("a call of " + verb("reload"))
    with Flood(bench) as flood:
        bench.lose_power()
        for key in NETS:
            assert bench.ping(bench.named(key), NETS[key].own, 120)
        bench.connected()
        flood.looked("a start")


# -- apart ----------------------------------------------------------------------------------------


def reject(bench: Bench) -> None:
    for at in NETS:
        for to in NETS:
            if at == to or (at, to) in ALLOWED:
                continue
            host, other = bench.named(at), bench.named(to)
            for protocol in ("tcp", "udp"):
                refused_at_once(bench, host, other.address, protocol)


def refused_at_once(bench: Bench, host: Host, target: str, protocol: str) -> None:
    place = mark()
    probe = bench.probe(protocol, host.address, target, port(bench))
    head = probe.packet.body[:4]

    def is_refusal(packet: Packet) -> bool:
        if packet.target != host.address:
            return False
        if protocol == "tcp":
            return (
                packet.protocol == TCP and packet.source == target
                and packet.body[:4] == head[2:] + head[:2] and bool(packet.body[13] & RST)
            )  # fmt: skip
        return packet.protocol == ICMP and packet.body[:2] == b"\3\x0d" and (
            packet.body[28:32] == head
        )  # fmt: skip

    def found() -> bool:
        return any(
            one.net is host.net and (p := one.packet) and is_refusal(p) for one in since(place)
        )

    mac = bench.router(host)
    assert bench.again(lambda: host.put(probe.packet, mac), found, 30), (
        f"{protocol} from {host.address} to {target} is not refused as ordered"
    )
    bench.behind(host)
    assert not bench.seen(probe, place), f"{protocol} from {host.address} to {target} came out"


def hours(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    low, high = (int(one[:2]) * 60 + int(one[3:]) for one in AXES["hours"].split())
    guest, other = bench.named("two"), bench.named("one")
    for minute in (low - 2, low + 1, high - 3, high + 1, 3, high + 30):
        bench.set_clock(minute)
        bench.flow(guest, bench.draw.choice(("tcp", "udp")), outside(bench), port(bench))
    bench.flow(other, "udp", outside(bench), port(bench))


def admitted(bench: Bench) -> None:
    bench.connected()
    guest, other = bench.named("two"), bench.named("two", 1)
    for address in sorted(bench.model.admitted):
        bench.expel(address)
    bench.flow(guest, "udp", outside(bench), port(bench))
    bench.admit(guest.address)
    bench.exchange(guest, "tcp", outside(bench), port(bench))
    talk = bench.talk(guest, "udp", outside(bench), port(bench))
    bench.flow(other, "tcp", outside(bench), port(bench))
    bench.adopt(bench.base.copy())
    bench.flow(guest, "udp", outside(bench), port(bench))
    bench.expel(guest.address)
    for back in (True, False):
        assert talk.ends(back), f"{guest.address} was expelled, and what it has open still passes"
    bench.flow(guest, "udp", outside(bench), port(bench))
    for words in (bench.named("one").address, outside(bench)):
        bench.refused("unknown", verb("admit"), words)


def cut(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    host, other = bench.named("one"), bench.named("one", 1)
    name = bench.line(host).name
    talk = bench.talk(host, "tcp", outside(bench), port(bench))
    site = bench.base.copy()
    site.doors += [replace(some_doors(bench, 1)[0], address=host.address)]
    bench.adopt(site)
    door = site.doors[0]
    bench.flow(bench.world, door.protocol, bench.model.uplink, int(door.port),
               source=outside(bench))  # fmt: skip
    bench.cut(name)
    for back in (False, True):
        assert talk.ends(back), f"{name} was cut off, and what it has open still passes"
    bench.flow(host, "udp", outside(bench), port(bench))
    bench.flow(bench.world, door.protocol, bench.model.uplink, int(door.port),
               source=outside(bench))  # fmt: skip
    bench.flow(other, "udp", outside(bench), port(bench))
    for at, to in sorted(ALLOWED):
        bench.flow(bench.named(at), "udp", bench.named(to).address, port(bench))
    bench.adopt(site)
    bench.flow(host, "tcp", outside(bench), port(bench))
    bench.free(name)
    bench.flow(host, "udp", outside(bench), port(bench))
    for verb_of in ("cut", "free"):
        bench.refused("unknown", verb(verb_of), "nobody-here")


def guest_limit(bench: Bench) -> None:
    limit = int(AXES["guest_limit"])
    bench.connected()
    core.leaves(bench)
    taken = {one.address for one in bench.model.site.hosts}
    address = free_address(NETS["two"], bench.draw, taken)
    guest = Host(bench.nets["two"], bench.mac(), address)
    if has("admitted"):
        bench.admit(address)
    try:
        began = time.monotonic()
        target = outside(bench)
        for number in range(limit):
            bench.flow(guest, "tcp", target, 2000 + number, own=40_000 + number)
        some, place = [], mark()
        for number in range(6):
            protocol = ("tcp", "udp")[number % 2]
            some.append(bench.probe(protocol, address, outside(bench), 3000 + number))
            guest.put(some[-1].packet, bench.router(guest))
        bench.behind(guest)
        passed = [one for one in some if bench.seen(one, place)]
        # What nobody has answered is forgotten after two minutes.
        assert not passed or time.monotonic() - began > 90, (
            f"beside {limit} connections of {address}, {len(passed)} more were opened"
        )
        bench.flow(bench.named("two"), "udp", outside(bench), port(bench))
    finally:
        guest.gone()


# -- doors ----------------------------------------------------------------------------------------


def hairpin(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    site = bench.base.copy()
    site.doors += some_doors(bench, 4)
    site.doors[3] = replace(site.doors[3], address=bench.named("one", 1).address)
    bench.adopt(site)
    for door in site.doors:
        for key in NETS:
            host = next(one for one in (bench.named(key), bench.named(key, 1))
                        if one.address != door.address)  # fmt: skip
            bench.exchange(host, door.protocol, bench.model.uplink, int(door.port))


def door_sources(bench: Bench) -> None:
    bench.connected()
    some = some_doors(bench, 3)
    mine = f"203.{bench.draw.randrange(1, 250)}.{bench.draw.randrange(250)}."
    site = bench.base.copy()
    site.doors += [replace(some[0], source=f"{mine}128/26"), replace(some[1], source=f"{mine}7/32")]
    site.doors += some[2:]
    bench.adopt(site)
    for door in site.doors:
        for end in ("7", "129", "191", "192", "8"):
            bench.flow(bench.world, door.protocol, bench.model.uplink, int(door.port),
                       source=mine + end)  # fmt: skip


def door_ranges(bench: Bench) -> None:
    bench.connected()
    site = bench.base.copy()
    for number, one in enumerate(some_doors(bench, 3)):
        low, to = 20_000 + number * 10_000 + bench.draw.randrange(9000), port(bench)
        size = (1, 7, 19)[number]
        site.doors.append(replace(one, port=f"{low}-{low + size}", to=str(to)))
    bench.adopt(site)
    for door in site.doors:
        low, high = map(int, door.port.split("-"))
        for at in (low, high, (low + high) // 2, low - 1, high + 1):
            if at in range(low, high + 1) or bench.model.door(door.protocol, at) is None:
                bench.flow(bench.world, door.protocol, bench.model.uplink, at,
                           source=outside(bench))  # fmt: skip


assert WORLD

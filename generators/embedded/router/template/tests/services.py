"""What every router has to do: doors, names, packets, what it tells, what changes, what lasts."""

from __future__ import annotations

import secrets
import time

from bench import Bench
from core import given, leaves, name, outside, port, some_doors
from ordered import ALLOWED, NETS
from sitefile import DoorLine, HostLine, Site, free_address
from wire import Host, mark, since

from benchflow.bench.ethernet import ICMP, Packet, icmp, udp

# -- doors ----------------------------------------------------------------------------------------


def doors(bench: Bench) -> None:
    bench.connected()
    site = bench.base.copy()
    site.doors += some_doors(bench)
    # The same number for the other protocol is another door, or none.
    bench.adopt(site)
    for one in site.doors:
        source = outside(bench)
        bench.exchange(bench.world, one.protocol, bench.model.uplink, int(one.port), source=source)
        other = "udp" if one.protocol == "tcp" else "tcp"
        if bench.model.door(other, int(one.port)) is None:
            bench.flow(bench.world, other, bench.model.uplink, int(one.port), source=source)


def doors_change(bench: Bench) -> None:
    bench.connected()
    site = bench.base.copy()
    site.doors += some_doors(bench, 4)
    bench.adopt(site)
    for one in site.doors[:2]:
        bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port),
                   source=outside(bench))  # fmt: skip
    site = site.copy()
    gone = site.doors.pop(1)
    site.doors[0] = DoorLine(
        "own", site.doors[0].protocol, site.doors[0].port, bench.named("one", 1).address,
        str(port(bench)),
    )  # fmt: skip
    bench.adopt(site)
    for one in (*site.doors, gone):
        bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port),
                   source=outside(bench))  # fmt: skip


# -- names ----------------------------------------------------------------------------------------


def names_of_the_world(bench: Bench) -> None:
    bench.connected()
    for key in NETS:
        one, missing = name(bench), name(bench)
        bench.carrier.records[one] = outside(bench)
        bench.resolves(bench.named(key), one, 0, [bench.carrier.records[one]])
        bench.resolves(bench.named(key), missing, 3, [])


def names_not_outside(bench: Bench) -> None:
    bench.connected()
    one = name(bench)
    bench.carrier.records[one] = outside(bench)
    got = bench.names(bench.world, one, seconds=0.1)
    assert got is None, f"a question from outside was answered: {got}"
    before = len(bench.carrier.asked)
    bench.names(bench.world, one, seconds=0.1)
    assert all(asked[1] != one for asked in bench.carrier.asked_since(before)), (
        "a question from outside was handed on"
    )


# -- packets --------------------------------------------------------------------------------------


def errors_come_through(bench: Bench) -> None:
    """An ICMP error about what a host sent reaches it."""
    bench.connected()
    leaves(bench)
    for key in NETS:
        host, target, to, place = bench.named(key), outside(bench), port(bench), mark()
        probe = bench.flow(host, "udp", target, to)
        assert probe
        _, packet = bench.seen(probe, place)[-1]
        later = mark()
        router = outside(bench)
        body = icmp(3, 1, bytes(4), packet.pack()[:28])
        error = Packet(router, packet.source, ICMP, body)
        mac = bench.router(bench.world)
        wanted = probe.packet.pack()[20:28]

        def found(later=later, host=host, wanted=wanted, router=router) -> bool:
            return any(
                one.net is host.net and (p := one.packet) and p.protocol == ICMP
                and p.body[:2] == b"\3\1" and p.body[28:34] == wanted[:6]
                and (p.source, p.target) == (router, host.address)
                for one in since(later)
            )  # fmt: skip

        assert bench.again(lambda error=error, mac=mac: bench.world.put(error, mac), found, 30), (
            f"an ICMP error about a datagram of {host.address} did not reach it"
        )


def counted_down(bench: Bench) -> None:
    bench.connected()
    leaves(bench)
    host, target = bench.named("one"), outside(bench)
    place = mark()
    probe = bench.flow(host, "udp", target, port(bench))
    assert probe
    _, packet = bench.seen(probe, place)[-1]
    assert packet.ttl == probe.packet.ttl - 1, f"a packet passed with TTL {packet.ttl}, was 64"
    own, to, place = port(bench), port(bench), mark()
    dying = udp(host.address, own, target, to, secrets.token_bytes(8), ttl=1)
    mac = bench.router(host)

    def found() -> bool:
        return any(
            one.net is host.net and (p := one.packet) and p.protocol == ICMP
            and p.body[:1] == b"\x0b" and p.body[28:32] == dying.body[:4]
            for one in since(place)
        )  # fmt: skip

    assert bench.again(lambda: host.put(dying, mac), found, 30), (
        "a packet whose time to live ends here is not answered by ICMP type 11"
    )


# -- tells ----------------------------------------------------------------------------------------


def tells(bench: Bench) -> None:
    bench.connected()
    for count in (0, 3):
        site = bench.base.copy()
        site.doors += some_doors(bench, count)
        bench.adopt(site)
        bench.says()


# -- changes --------------------------------------------------------------------------------------


def another_address(bench: Bench) -> None:
    """The carrier gives another address: all is there."""
    bench.connected()
    leaves(bench)
    site = bench.base.copy()
    site.doors += some_doors(bench)
    bench.adopt(site)
    before = bench.model.uplink
    bench.moved()
    mac, deadline = bench.router(bench.world), bench.station.machine.deadline(30)
    while bench.ping(bench.world, before, 0.1, mac=mac):
        assert deadline.remaining() > 0, (
            f"the router still answers at {before}, which is not its own any more"
        )
    bench.exchange(bench.named("one"), "udp", outside(bench), port(bench))
    bench.exchange(bench.named("two"), "tcp", outside(bench), port(bench))
    for one in site.doors:
        bench.exchange(bench.world, one.protocol, bench.model.uplink, int(one.port),
                       source=outside(bench))  # fmt: skip
    bench.says()


def other_name_servers(bench: Bench) -> None:
    bench.connected()
    carrier = bench.carrier
    carrier.names = [f"198.19.{bench.draw.randrange(256)}.{bench.draw.randrange(1, 255)}"]
    deadline = bench.station.machine.deadline(90)
    host = bench.named("one")
    while True:
        one, before = name(bench), len(carrier.asked)
        carrier.records[one] = outside(bench)
        got = bench.names(host, one, seconds=6)
        if got == (0, [carrier.records[one]]):
            break
        assert deadline.remaining() > 0, f"with other name servers of the carrier's, {one} is {got}"
        time.sleep(0.5)
    assert any(asked[:2] == (carrier.names[0], one) for asked in carrier.asked_since(before))


def another_host(bench: Bench) -> None:
    """The owner adds a host, and takes one away."""
    site = bench.base.copy()
    key = bench.draw.choice([*NETS])
    taken = {one.address for one in site.hosts}
    address = free_address(NETS[key], bench.draw, taken)
    site.hosts.append(HostLine("added", NETS[key].name, bench.mac(), address))
    bench.adopt(site)
    deadline = bench.station.machine.deadline(30)
    while (got := given(bench, key, site.hosts[-1].mac)) != address:
        assert deadline.remaining() > 0, f"a host that was added is given {got}, not {address}"
    assert bench.ping(Host(bench.nets[key], bench.mac(), address), NETS[key].own)


# -- lasts ----------------------------------------------------------------------------------------


def works(bench: Bench, site: Site) -> None:
    """A little of everything."""
    bench.connected()
    for key in NETS:
        assert bench.ping(bench.named(key), NETS[key].own, 120)
    leaves(bench)
    bench.exchange(bench.named("one"), "udp", outside(bench), port(bench))
    bench.exchange(bench.named("two"), "tcp", outside(bench), port(bench))
    for one in site.doors:
        bench.exchange(bench.world, one.protocol, bench.model.uplink, int(one.port),
                       source=outside(bench))  # fmt: skip
    at, to = next((a, b) for a in NETS for b in NETS if a != b and (a, b) not in ALLOWED)
    bench.flow(bench.named(at), "udp", bench.named(to).address, port(bench))
    one = name(bench)
    bench.carrier.records[one] = outside(bench)
    bench.resolves(bench.named("three"), one, 0, [bench.carrier.records[one]])
    line = bench.line(bench.named("one"))
    got = given(bench, "one", line.mac)
    assert got == line.address, f"{line.name} was given {got}, not its {line.address}"


def after_a_cut(bench: Bench) -> None:
    site = bench.base.copy()
    site.doors += some_doors(bench)
    bench.adopt(site)
    bench.lose_power()
    works(bench, site)


def without_the_carrier(bench: Bench) -> None:
    """A start while the carrier is silent: the site works, and the uplink when it comes."""
    bench.carrier.silent = True
    bench.model.uplink = ""
    bench.lose_power()
    for key in NETS:
        assert bench.ping(bench.named(key), NETS[key].own, 120), f"nothing on {key}"
    at, to = sorted(ALLOWED)[0]
    bench.exchange(bench.named(at), "udp", bench.named(to).address, port(bench))
    line = bench.line(bench.named("one"))
    assert given(bench, "one", line.mac) == line.address
    bench.says()
    bench.carrier.silent = False
    bench.connected()
    bench.exchange(bench.named("one"), "tcp", outside(bench), port(bench))

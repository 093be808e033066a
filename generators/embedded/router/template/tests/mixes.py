"""Sequences of events that are drawn for each verification, over all demands of an instance."""

from __future__ import annotations

from dataclasses import replace

import core
from bench import Bench
from core import name, outside, port, some_doors
from model import Unspecified
from ordered import ALLOWED, AXES, NETS, has
from sitefile import BlockLine, DoorLine, HostLine, free_address


class Mix:
    """What may happen next, and what is looked at after it."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.draw = bench, bench.draw
        self.cuts = 0

    # -- what happens -----------------------------------------------------------------------------

    def events(self) -> list:
        found = [self.doors, self.doors, self.host, self.move]
        if has("cut"):
            found += [self.cut] * 2
        if has("admitted"):
            found += [self.admit] * 2
        if has("blocked"):
            found += [self.block]
        if has("hours"):
            found += [self.hour]
        if self.cuts < 1:
            found += [self.power]
        return found

    def site(self):
        return self.bench.model.site.copy()

    def doors(self) -> None:
        site, draw = self.site(), self.draw
        if len(site.doors) > 1 and (len(site.doors) > 7 or draw.random() < 0.5):
            del site.doors[draw.randrange(len(site.doors))]
        else:
            site.doors.append(self.door(site.doors))
        self.bench.adopt(site)

    def door(self, there: list[DoorLine]) -> DoorLine:
        """A door that none of those is, of any form that was ordered."""
        draw, bench = self.draw, self.bench
        one = some_doors(bench, 1)[0]
        names = {each.name for each in there}
        one = replace(one, name=next(n for n in ("own", "a", "b", "c", "d", "e", "f", "g", "h", "i")
                                     if n not in names))  # fmt: skip
        line = draw.choice(bench.model.site.hosts)
        one = replace(one, address=line.address, protocol=draw.choice(("tcp", "udp")))
        if has("door-ranges") and draw.random() < 0.4:
            low = draw.randrange(20_000, 60_000)
            one = replace(one, port=f"{low}-{low + draw.randrange(1, 20)}")
        if has("door-sources") and draw.random() < 0.4:
            one = replace(one, source=f"{draw.randrange(130, 160)}.{draw.randrange(200)}.0.0/16")
        low, _, high = one.port.partition("-")
        for each in there:
            first, _, last = each.port.partition("-")
            if int(low) <= int(last or first) and int(first) <= int(high or low):
                return self.door(there)
        return one

    def host(self) -> None:
        site, draw = self.site(), self.draw
        extra = [one for one in site.hosts if one.name.startswith("extra")]
        if extra and draw.random() < 0.5:
            gone = extra[0]
            site.hosts.remove(gone)
            site.doors = [one for one in site.doors if one.address != gone.address]
            if gone.name in self.bench.model.cut:
                self.bench.free(gone.name)
        else:
            net = draw.choice([*NETS.values()])
            address = free_address(net, draw, {one.address for one in site.hosts})
            number = 1 + max([0, *(int(one.name[5:]) for one in extra)])
            site.hosts.append(HostLine(f"extra{number}", net.name, self.bench.mac(), address))
        self.bench.adopt(site)

    def move(self) -> None:
        self.bench.moved()

    def cut(self) -> None:
        bench = self.bench
        one = self.draw.choice(bench.model.site.hosts).name
        if bench.model.cut and self.draw.random() < 0.5:
            bench.free(sorted(bench.model.cut)[0])
        else:
            bench.cut(one)

    def admit(self) -> None:
        bench = self.bench
        if bench.model.admitted and self.draw.random() < 0.4:
            bench.expel(sorted(bench.model.admitted)[0])
        else:
            bench.admit(bench.named("two", self.draw.randrange(2)).address)

    def block(self) -> None:
        site = self.site()
        site.blocks = [BlockLine(name(self.bench))] if len(site.blocks) > 2 else [
            *site.blocks, BlockLine(name(self.bench))
        ]  # fmt: skip
        self.bench.adopt(site)

    def hour(self) -> None:
        self.bench.set_clock(self.draw.choice((self.bench.noon(), 4, 1437)))

    def power(self) -> None:
        self.cuts += 1
        self.bench.lose_power()
        self.bench.connected()

    # -- what is looked at ------------------------------------------------------------------------

    def look(self, count: int = 4) -> None:
        for _ in range(count):
            self.draw.choice(
                [self.outward, self.outward, self.across, self.inward, self.inward, self.asked]
            )()

    def outward(self) -> None:
        bench = self.bench
        host = bench.named(self.draw.choice([*NETS]), self.draw.randrange(2))
        bench.exchange(host, self.draw.choice(("udp", "tcp")), outside(bench), port(bench))

    def across(self) -> None:
        bench, (at, to) = self.bench, self.draw.sample([*NETS], 2)
        host, other = bench.named(at, self.draw.randrange(2)), bench.named(to)
        bench.exchange(host, self.draw.choice(("udp", "tcp")), other.address, port(bench))

    def inward(self) -> None:
        bench, draw = self.bench, self.draw
        if not bench.model.site.doors:
            return
        door = draw.choice(bench.model.site.doors)
        low, _, high = door.port.partition("-")
        at = draw.choice((int(low), int(high or low)))
        source = outside(bench)
        if door.source and draw.random() < 0.6:
            source = door.source.replace("0.0/16", f"{draw.randrange(200)}.7")
        bench.exchange(bench.world, door.protocol, bench.model.uplink, at, source=source)
        if has("hairpin") and not door.source and draw.random() < 0.5:
            host = bench.named(draw.choice([*NETS]), draw.randrange(2))
            if host.address != door.address:
                bench.exchange(host, door.protocol, bench.model.uplink, at)

    def asked(self) -> None:
        bench, draw = self.bench, self.draw
        asker = bench.named(draw.choice([*NETS]))
        one = name(bench)
        bench.carrier.records[one] = outside(bench)
        bench.resolves(asker, one, 0, [bench.carrier.records[one]])
        if has("zone"):
            line = draw.choice(bench.model.site.hosts)
            bench.resolves(asker, f"{line.name}.{AXES['zone']}", 0, [line.address])
        if has("blocked") and bench.model.site.blocks:
            block = draw.choice(bench.model.site.blocks).name
            bench.resolves(asker, f"www.{block}", 3, [])
        own = next((d for d in bench.model.site.doors if d.name == "own"), None)
        if has("own-name") and own:
            bench.resolves(asker, AXES["own_name"], 0, [own.address])

    def all_of_it(self) -> None:
        """A last look, at each host and each door."""
        bench = self.bench
        bench.says()
        for line in bench.model.site.hosts:
            host = bench.hosts[line.name]
            try:
                bench.flow(host, "udp", outside(bench), port(bench))
            except Unspecified:
                continue
            if not (has("strangers") and bench.key(line) == "three"):
                got = core.given(bench, bench.key(line), line.mac)
                assert got == line.address, f"{line.name} was given {got}, not {line.address}"
        for door in bench.model.site.doors:
            source = door.source.replace("0.0/16", "9.9") if door.source else outside(bench)
            at = int(door.port.partition("-")[0])
            bench.flow(bench.world, door.protocol, bench.model.uplink, at, source=source)


def pairs(bench: Bench) -> None:
    """What is easily met one by one, and not together: over a start, and after another address."""
    bench.connected()
    core.leaves(bench)
    mix = Mix(bench)
    site = bench.base.copy()
    for _ in range(4):
        site.doors.append(mix.door(site.doors))
    bench.adopt(site)
    if has("cut"):
        bench.cut(bench.line(bench.named("one", 1)).name)
    if has("admitted"):
        bench.expel(bench.named("two", 1).address)
        assert bench.named("two").address in bench.model.admitted
    bench.lose_power()
    bench.connected()
    mix.all_of_it()
    bench.moved()
    mix.all_of_it()
    mix.look(6)
    if has("cut"):
        bench.free(sorted(bench.model.cut)[0])
        mix.all_of_it()


def sequence(bench: Bench, steps: int) -> None:
    bench.connected()
    core.leaves(bench)
    mix = Mix(bench)
    mix.doors()
    for _ in range(steps):
        bench.draw.choice(mix.events())()
        mix.look(3)
    mix.all_of_it()


assert ALLOWED

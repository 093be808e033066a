"""The router between the carrier and the site's hosts, and beside it the model of the order."""

from __future__ import annotations

import json
import random
import secrets

from carrier import Carrier
from model import WORLD, Model
from ordered import AXES, NETS, STATUS, WORD, has, verb
from sitefile import HostLine, Site, drawn, spare
from station import Station
from traffic import CHANGE, START, Probe, Traffic, ports
from wire import Host, Net, Wire

__all__ = ["CHANGE", "START", "Bench", "Probe", "ports", "told"]

_REASONS = {number: name for name, number in STATUS.items()}


def told(status: int) -> str:
    return f"{status} ({_REASONS.get(status, 'done' if status == 0 else 'no status of the order')})"


class Bench(Traffic):
    """`station` and `model`, side by side, and whom they are to talk to."""

    def __init__(self, draw: random.Random, macs: dict[str, str], files: dict[str, bytes]) -> None:
        self.draw, self.macs, self.files = draw, macs, files
        name = secrets.token_hex(4)
        self.lans = {each: f"{each}-{name}" for each in ("carrier", "site")}
        self.wires = {each: Wire(lan) for each, lan in self.lans.items()}
        vlan = int(AXES["vlan_carrier"]) if has("carrier-vlan") else 0
        self.nets = {WORLD: Net(WORLD, self.wires["carrier"], vlan)}
        for key, net in NETS.items():
            self.nets[key] = Net(key, self.wires["site"], net.vlan)
        if has("carrier-mac"):
            self.nets[WORLD].only = AXES["carrier_mac"]
        self.carrier = Carrier(self.nets[WORLD], draw)
        self.base = drawn(draw, self.mac)
        self.model = Model(self.base.copy())
        self.station: Station = None  # type: ignore[assignment]
        self.world = self.carrier.gateway
        if has("register"):
            self.world.serve[int(AXES["port_register"])] = self.registers
        self.hosts: dict[str, Host] = {}
        self.spare = {
            key: Host(self.nets[key], self.mac(), spare(net)) for key, net in NETS.items()
        }
        self.place()
        self.on = False

    def clock(self) -> str:
        """At which each start of the board is, UTC."""
        minute = self.noon()
        day = f"2027-{self.draw.randrange(1, 13):02}-{self.draw.randrange(1, 28):02}"
        return f"{day}T{minute // 60:02}:{minute % 60:02}:00"

    # -- the site's hosts -------------------------------------------------------------------------

    def mac(self) -> str:
        return f"52:54:00:{self.draw.randbytes(3).hex(':')}"

    def place(self) -> None:
        """The hosts that the file knows stand on their networks, and nobody else."""
        for host in self.hosts.values():
            host.gone()
        self.hosts = {
            one.name: Host(self.nets[self.key(one)], one.mac, one.address)
            for one in self.model.site.hosts
        }  # fmt: skip

    def key(self, one: HostLine) -> str:
        return next(key for key, net in NETS.items() if net.name == one.network)

    def named(self, key: str, number: int = 0) -> Host:
        """The first or second host of a network."""
        found = [one for one in self.model.site.hosts if self.key(one) == key]
        return self.hosts[found[number].name]

    def line(self, host: Host) -> HostLine:
        return next(one for one in self.model.site.hosts if one.address == host.address)

    # -- starts -----------------------------------------------------------------------------------

    def switch_on(self) -> None:
        """A start, up to a shell on the console."""
        for host in (*self.hosts.values(), *self.spare.values(), self.world):
            host.neighbours.clear()
        self.station.switch_on()
        self.station.enter()
        self.began = self.station.machine.deadline(START)
        self.on = True
        self.model.minute = self.noon()

    def lose_power(self) -> None:
        self.station.machine.power_cut()
        self.on = False
        self.switch_on()

    def ready(self) -> None:
        """It runs, and knows the carrier."""
        if not self.on or not self.station.machine.alive:
            if self.station.machine.alive:
                self.station.machine.power_cut()
            self.switch_on()
        if not self.station.machine.shell.usable():
            self.station.enter()

    def fresh(self) -> None:
        """Everything as at the beginning of each check."""
        self.ready()
        self.carrier.silent = False
        if self.model.minute != self.noon():
            self.set_clock(self.noon())
        for name in sorted(self.model.cut):
            self.station.call(verb("free"), name)
        self.model.cut.clear()
        if self.model.site == self.base:
            return
        self.file(self.base.copy())
        if self.station.call(verb("reload"))[0]:
            # Who takes no file up when he is told to may still start with it.
            self.lose_power()

    def connected(self, seconds: float = START) -> None:
        """The router has the address that the carrier gives, and answers there."""
        self.model.uplink = self.carrier.gives
        fault = f"the uplink's address {self.carrier.gives} answers no ping"
        if self.carrier.acknowledged != self.carrier.gives and self.carrier.wrong:
            fault += f" (the carrier serves no client like this: {self.carrier.wrong})"
        assert self.ping(self.world, self.carrier.gives, seconds), fault

    def adopt(self, site: Site) -> None:
        """The owner writes the file, and has it taken up."""
        self.file(site)
        self.call("reload")

    def file(self, site: Site) -> None:
        """The owner writes the file."""
        self.station.write(site.text(self.draw))
        self.model.site = site
        self.place()

    def call(self, *words: str) -> str:
        """The router's command, which has to do it; the first word is ours."""
        status, said, wrong = self.station.call(verb(words[0]), *words[1:])
        line = " ".join((verb(words[0]), *words[1:]))
        assert status == 0, f"{line} ended with {told(status)}: {wrong[-200:]}"
        return said

    def cut(self, name: str) -> None:
        self.call("cut", name)
        self.model.cut.add(name)

    def free(self, name: str) -> None:
        self.call("free", name)
        self.model.cut.discard(name)

    def admit(self, address: str) -> None:
        self.call("admit", address)
        self.model.admitted.add(address)

    def expel(self, address: str) -> None:
        self.call("expel", address)
        self.model.admitted.discard(address)

    def refused(self, reason: str, *words: str) -> None:
        """The command, which ends with this reason's status and says why."""
        status, _, wrong = self.station.call(*words)
        line = " ".join((WORD, *words))
        assert status == STATUS[reason], (
            f"{line!r} ended with {told(status)}, not {told(STATUS[reason])}"
        )
        assert wrong.strip(), f"{line!r} ended with {status} and said nothing on standard error"

    def status(self) -> dict[str, str]:
        said = self.call("status")
        try:
            if AXES["told_form"] == "json":
                found = json.loads(said)
                assert isinstance(found, dict)
                return found
            sign = "=" if AXES["told_form"] == "equals" else ": "
            rows = [row.partition(sign) for row in said.splitlines()]
            assert all(middle for _, middle, _ in rows)
            assert len({row[0] for row in rows}) == len(rows)
            return {key: value for key, _, value in rows}
        except (ValueError, AssertionError):
            raise AssertionError(f"{verb('status')} printed {said[-400:]!r}") from None

    def says(self) -> None:
        """Its status is what the model knows, at last."""
        carrier, site = self.carrier, self.model.site
        wanted = {
            "uplink": self.model.uplink or "-",
            "gateway": carrier.gateway.address if self.model.uplink else "-",
            "hosts": str(len(site.hosts)), "doors": str(len(site.doors)),
        }  # fmt: skip
        deadline = self.station.machine.deadline(self.patience())
        while True:
            found = self.status()
            wrong = [key for key in wanted if found.get(key) != wanted[key]]
            if not wrong:
                break
            assert deadline.remaining() > 0, (
                f"{verb('status')}: {wrong[0]} is {found.get(wrong[0])!r}, not {wanted[wrong[0]]!r}"
            )
        more = sorted(found.keys() - wanted.keys() - {"refused"})
        assert not more, f"{verb('status')} says {more} besides"

    def moved(self) -> None:
        """The carrier gives another address from now on."""
        self.carrier.gives = self.carrier.another()
        self.connected()

    @staticmethod
    def noon() -> int:
        """The minute of the day at which each start is, by the board's clock: guests may leave."""
        low, high = (int(one[:2]) * 60 + int(one[3:]) for one in AXES["hours"].split())
        return (low + high) // 2

    def set_clock(self, minute: int) -> None:
        """The board's clock, at a minute of its day."""
        at = f"{minute // 60:02}:{minute % 60:02}:10"
        status, _, wrong = self.station.run(f'date -u -s "$(date -u +%Y-%m-%d) {at}"')
        assert status == 0, f"the clock cannot be set: {wrong[-100:]}"
        self.model.minute = minute

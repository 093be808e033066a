"""The owner's file: what stands in it, and how it is written in the ordered form."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, field, fields, replace

from ordered import AXES, NETS, Network, has


@dataclass(frozen=True)
class HostLine:
    """A host of the site's that is known."""

    name: str
    network: str
    mac: str
    address: str


@dataclass(frozen=True)
class DoorLine:
    """What comes to a port of the uplink's address goes to a host."""

    name: str
    protocol: str
    port: str
    address: str
    to: str
    source: str = ""


@dataclass(frozen=True)
class BlockLine:
    """A name that is not told."""

    name: str


@dataclass(frozen=True)
class PeerLine:
    """Somebody who may come through the tunnel."""

    name: str
    key: str
    address: str


Line = HostLine | DoorLine | BlockLine | PeerLine
_KINDS = {HostLine: "host", DoorLine: "door", BlockLine: "block", PeerLine: "peer"}
#: Fields that stand in the file only where a demand brings them.
_DEMANDED = {"source": "door-sources"}


@dataclass
class Site:
    """All of the file."""

    hosts: list[HostLine] = field(default_factory=list)
    doors: list[DoorLine] = field(default_factory=list)
    blocks: list[BlockLine] = field(default_factory=list)
    peers: list[PeerLine] = field(default_factory=list)

    def copy(self) -> Site:
        return replace(
            self, hosts=[*self.hosts], doors=[*self.doors], blocks=[*self.blocks],
            peers=[*self.peers],
        )  # fmt: skip

    def lines(self) -> list[Line]:
        return [*self.hosts, *self.doors, *self.blocks, *self.peers]

    def text(self, draw: random.Random) -> str:
        """As the owner writes it. The order of records says nothing, but in JSON by kind."""
        lines = self.lines()
        draw.shuffle(lines)
        return write([record(one) for one in lines], draw)


def record(one: Line) -> tuple[str, dict[str, str]]:
    """(kind, fields): an empty value is none."""
    told = {
        key: value for key, value in asdict(one).items()
        if key not in _DEMANDED or has(_DEMANDED[key])
    }  # fmt: skip
    return _KINDS[type(one)], told


def write(records: list[tuple[str, dict[str, str]]], draw: random.Random) -> str:
    """Records in the ordered form."""
    form = AXES["site_form"]
    if form == "json":
        found: dict[str, list[dict[str, str]]] = {}
        for kind, told in records:
            found.setdefault(kind, []).append({k: v for k, v in told.items() if v})
        return json.dumps(found, indent=draw.choice((None, 1, 2))) + "\n"
    rows = [f"{';' if form == 'ini' else '#'} the site, as of today", ""]
    for kind, told in records:
        there = [(key, value) for key, value in told.items() if value]
        if form == "words":
            rows.append(" ".join([kind, *(value or "-" for value in told.values())]))
            continue
        draw.shuffle(there)
        if form == "pairs":
            rows.append(" ".join([kind, *(f"{key}={value}" for key, value in there)]))
        else:
            rows += [f"[{kind}]", *(f"{key} = {value}" for key, value in there)]
            rows += [""] * draw.randrange(2)
    return "\n".join(rows) + "\n"


def field_names(kind: type) -> list[str]:
    return [one.name for one in fields(kind)]


def spare(net: Network) -> str:
    """An address of a network that no host of a file ever has: of somebody who only asks."""
    last = net.range.num_addresses - 2
    found = (str(net.range[at]) for at in range(last, 0, -1))
    return next(one for one in found if one != net.own and not net.pooled(one))


def free_address(net: Network, draw: random.Random, taken: set[str]) -> str:
    """An address of a network that is in nobody's hands, outside of the pool."""
    while True:
        one = str(net.range[draw.randrange(1, net.range.num_addresses - 1)])
        if one not in (net.own, spare(net)) and one not in taken and not net.pooled(one):
            return one


def drawn(draw: random.Random, mac) -> Site:
    """A site: two known hosts in each network, and some doors."""
    site, taken = Site(), set()
    names = draw.sample(
        ["kea", "lory", "nene", "shrike", "rook", "teal", "smew", "ibis", "kite", "ruff", "dipper",
         "avocet", "wren2", "jay-3", "owl"], 7,
    )  # fmt: skip
    for key, net in NETS.items():
        for _ in range(2):
            address = free_address(net, draw, taken)
            taken.add(address)
            site.hosts.append(HostLine(names.pop(), NETS[key].name, mac(), address))
    return site

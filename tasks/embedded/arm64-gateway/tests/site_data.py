"""What is drawn for a run: the station's configuration, the carrier's addresses, the cards."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, replace

_DRAW = secrets.SystemRandom()
# First bytes of addresses that are nobody's private, shared or documentation range.
PUBLIC = (23, 45, 77, 81, 89, 146, 151, 185, 193, 212)


def drawn_mac(start: str = "02:50") -> str:
    return start + "".join(f":{one:02x}" for one in secrets.token_bytes(6 - len(start.split(":"))))


def public(count: int) -> list[str]:
    """Addresses of the world, each in a network of its own."""
    firsts = _DRAW.sample(PUBLIC, count)
    return [f"{first}.{_DRAW.randint(1, 250)}.{_DRAW.randint(1, 250)}.{_DRAW.randint(2, 250)}"
            for first in firsts]  # fmt: skip


def word(letters: int = 6) -> str:
    return "".join(_DRAW.choice("bcdfghjkmnpqrstvwxz") for _ in range(letters))


def port() -> int:
    return _DRAW.randint(10000, 19999)


PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
WIDE, NARROW = (16, 19, 21, 22, 23), (25, 26, 27, 28)
POOL = 6


def within(net: ipaddress.IPv4Network) -> str:
    """Any address of a network but its first and last."""
    return str(net[_DRAW.randint(1, net.num_addresses - 2)])


def private() -> list[str]:
    """Addresses that no answer of the carrier's may bring: one of each kind."""
    nets = (*PRIVATE, *map(ipaddress.IPv4Network, ("127.0.0.0/8", "169.254.0.0/16")))
    return [*map(within, nets), "127.0.0.1", "169.254.169.254"]


def local_net(bits: int) -> ipaddress.IPv4Network:
    """A network of so many bits in the private ones."""
    space = _DRAW.choice(PRIVATE)
    at = _DRAW.randrange(1 << (bits - space.prefixlen))
    return ipaddress.IPv4Network((int(space[0]) + (at << (32 - bits)), bits))


@dataclass(frozen=True)
class Site:
    """A configuration in the words of the letter."""

    name: str
    lan: str
    pool: tuple[str, str]
    lease: int
    key: str
    hosts: tuple[tuple[str, str, str], ...] = ()
    forwards: tuple[tuple[str, int, str, int], ...] = ()
    blocks: tuple[str, ...] = ()

    @classmethod
    def draw(cls, plc: str, other: str, bits: tuple[int, ...] = NARROW) -> Site:
        net = local_net(_DRAW.choice(bits))
        # The pool lies within 256 addresses: what ends with 0 or 255 some servers give to nobody.
        page = 256 * _DRAW.randrange(max(1, net.num_addresses // 256))
        room = min(256, net.num_addresses)
        at = page + _DRAW.randint(1, room - 1 - POOL)
        rest = [one for one in range(1, net.num_addresses - 1) if not at <= one < at + POOL]
        own, one, two = _DRAW.sample(rest, 3)
        doors = _DRAW.sample(range(10000, 20000), 2)
        return cls(
            f"pump-{word()}", f"{net[own]}/{net.prefixlen}",
            (str(net[at]), str(net[at + POOL - 1])),
            _DRAW.randint(1200, 7200), secrets.token_hex(16),
            ((plc, str(net[one]), f"plc-{word()}"), (other, str(net[two]), f"cam-{word()}")),
            # One number may be two doors: of TCP and of UDP, to different machines.
            (("tcp", doors[0], str(net[one]), port()), ("udp", doors[1], str(net[one]), port()),
             ("tcp", doors[1], str(net[two]), port())),
        )  # fmt: skip

    @property
    def own(self) -> str:
        return self.lan.partition("/")[0]

    @property
    def net(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(self.lan, strict=False)

    @property
    def mask(self) -> bytes:
        return self.net.netmask.packed

    def pooled(self, address: str) -> bool:
        first, last = map(ipaddress.IPv4Address, self.pool)
        return first <= ipaddress.IPv4Address(address) <= last

    def free(self) -> str:
        """An address of the network that is nobody's."""
        taken = {self.own, *(address for _, address, _ in self.hosts)}
        while (found := within(self.net)) in taken or self.pooled(found):
            continue
        return found

    def text(self) -> str:
        lines = [
            f"name {self.name}", f"lan {self.lan}", f"pool {self.pool[0]} {self.pool[1]}",
            f"lease {self.lease}", f"key {self.key}",
            *(f"host {' '.join(one)}" for one in self.hosts),
            *(f"forward {' '.join(map(str, one))}" for one in self.forwards),
            *(f"block {one}" for one in self.blocks),
        ]  # fmt: skip
        return "".join(f"{line}\n" for line in lines)

    def changed(self, **values) -> Site:
        return replace(self, **values)


# What production writes: /app/order/site.conf.
_PLC = "10.71.0.10"
FACTORY_SITE = Site(
    "pump-0", "10.71.0.1/24", ("10.71.0.100", "10.71.0.150"), 3600,
    "5f0dc4a19be27733d80145fe90ab6c21", (("02:50:4c:00:00:10", _PLC, "plc"),),
    (("tcp", 4840, _PLC, 4840),),
)  # fmt: skip
FACTORY = FACTORY_SITE.text()


@dataclass(frozen=True)
class Carrier:
    """The carrier's side: its network, its router, what it gives us, and a world behind it."""

    bits: int
    router: str
    given: str
    names: str
    world: str
    other: str
    stranger: str
    third: str

    @classmethod
    def draw(cls) -> Carrier:
        near, names, world, other = public(4)
        net = ipaddress.IPv4Network(f"{near}/{_DRAW.randint(20, 28)}", strict=False)
        own = [str(net[at]) for at in _DRAW.sample(range(1, net.num_addresses - 1), 4)]
        router, given, stranger, third = own
        return cls(net.prefixlen, router, given, names, world, other, stranger, third)

    def overlapping(self, local: ipaddress.IPv4Network, own: str) -> tuple[str, str, int]:
        """Address, router and bits of an offer whose network overlaps with the local one: it is a
        part of it, or the other way round, and then the address itself may lie outside of it. It
        is not the gateway's `own`: to send from that one is no use of the offer."""
        if _DRAW.random() < 0.5:
            parts = local.subnets(new_prefix=min(30, local.prefixlen + 2))
            net = _DRAW.choice([net for net in parts if own not in (str(net[1]), str(net[2]))])
            return str(net[1]), str(net[2]), net.prefixlen
        net = local.supernet(new_prefix=local.prefixlen - _DRAW.randint(1, 8))
        outside = next(one for one in net.address_exclude(local))
        address = router = within(outside)
        while router == address:
            router = within(outside)
        return address, router, net.prefixlen


VAKT_ROUNDS = 4


def vakt(key: str, question: bytes) -> str:
    """What the watchman answers: its program, with characters that have a sign."""
    state, said = 2166136261, []
    for _ in range(VAKT_ROUNDS):
        for byte in bytes.fromhex(key) + question:
            state = ((state + byte - (byte > 127) * 256) * 2654435761) & 0xFFFFFFFF
            state ^= state >> 15
        said.append(f"{state:08x}")
    return "".join(said)

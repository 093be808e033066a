"""What is drawn for a run: the station's configuration, the carrier's addresses, the cards."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field, replace

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
    def draw(cls, plc: str, other: str) -> Site:
        net = ipaddress.IPv4Network(
            _DRAW.choice([f"10.{_DRAW.randint(1, 250)}.{_DRAW.randint(0, 250)}.0/24",
                          f"172.{_DRAW.randint(16, 31)}.{_DRAW.randint(0, 250)}.0/24",
                          f"192.168.{_DRAW.randint(0, 250)}.0/24"])
        )  # fmt: skip
        at = _DRAW.randint(100, 200)
        own, one, two = _DRAW.sample(range(2, 90), 3)
        doors = _DRAW.sample(range(10000, 20000), 3)  # two of one protocol must not be the same
        return cls(
            f"pump-{word()}", f"{net[own]}/24", (str(net[at]), str(net[at + 5])),
            _DRAW.randint(1200, 7200), secrets.token_hex(16),
            ((plc, str(net[one]), f"plc-{word()}"), (other, str(net[two]), f"cam-{word()}")),
            (("tcp", doors[0], str(net[one]), port()), ("udp", doors[1], str(net[one]), port()),
             ("tcp", doors[2], str(net[two]), port())),
        )  # fmt: skip

    @property
    def own(self) -> str:
        return self.lan.partition("/")[0]

    @property
    def net(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(self.lan, strict=False)

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


def wrong(site: Site) -> list[tuple[str, int]]:
    """Files that are wrong, each with the line in which the first fault stands."""
    lines = site.text().splitlines()

    def put(number: int, text: str) -> tuple[str, int]:
        return "\n".join([*lines[: number - 1], text, *lines[number:]]) + "\n", number

    def more(text: str) -> tuple[str, int]:
        return "\n".join([*lines, text]) + "\n", len(lines) + 1

    first, last = site.pool
    outside = "8.8.4.4"
    plc = site.hosts[0]
    proto, taken, _, _ = site.forwards[0]
    return [
        put(1, f"name {site.name.upper()}"), put(1, "name a;reboot"), put(1, "name -x"),
        put(1, f"name {site.name} more"), put(2, f"lan {site.own}"), put(2, f"lan {outside}/24"),
        put(2, f"lan {site.net[0]}/24"), put(2, f"lan {site.net[255]}/24"),
        put(2, "lan 10.1.2.300/24"),
        put(2, f"lan {site.own}/30"), put(2, "lan 10.01.2.3/24"), put(3, f"pool {last} {first}"),
        put(3, f"pool {first} {outside}"), put(3, f"pool {site.own} {last}"),
        put(3, f"pool {site.net[1]} {site.net[254]}"), put(4, "lease 60"), put(4, "lease 1h"),
        put(5, f"key {site.key[:-1]}"), put(5, f"key {site.key[:-1]}g"),
        more(f"host {plc[0]} {site.net[254]} twin"), more(f"host {drawn_mac()} {plc[1]} twin"),
        more(f"host {drawn_mac()} {site.net[254]} {plc[2]}"),
        more(f"host {drawn_mac()} {first} twin"),
        more(f"host {drawn_mac()} {outside} twin"), more(f"host 02:50:4c {site.net[254]} twin"),
        more(f"forward {proto} {taken} {plc[1]} 80"), more(f"forward tcp 0 {plc[1]} 80"),
        more(f"forward sctp 9 {plc[1]} 80"), more(f"forward tcp 9 {site.net[254]} 80"),
        more(f"forward tcp 9 {outside} 80"), more("block 9.9.9.9/24"), more("block 9.9.9.0"),
        more("route 9.9.9.0/24"), more(f"lease {site.lease}"), more("name $(reboot)"),
        ("".join(f"{line}\n" for line in lines if not line.startswith("key")), len(lines)),
        (site.text().replace("\n", "\r\n"), 1), ("", 1),
        ("\n".join([lines[0], lines[2], lines[1], *lines[3:]]) + "\n", 2),
    ]  # fmt: skip


@dataclass(frozen=True)
class Carrier:
    """The carrier's side: its network, its router, what it gives us, and a world behind it."""

    router: str
    given: str
    names: str
    world: str
    other: str
    stranger: str
    macs: dict[str, str] = field(default_factory=dict)

    @classmethod
    def draw(cls) -> Carrier:
        near, names, world, other = public(4)
        base = near.rpartition(".")[0]
        router, given, stranger = _DRAW.sample(range(2, 250), 3)
        return cls(f"{base}.{router}", f"{base}.{given}", names, world, other, f"{base}.{stranger}")


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

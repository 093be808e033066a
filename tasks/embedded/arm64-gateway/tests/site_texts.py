"""Texts of configurations: wrong ones, each with its first wrong line, and right ones at limits."""

from __future__ import annotations

import random
import secrets

from site_data import Site, drawn_mac, local_net, port, word

_DRAW = random.SystemRandom()
SIZE_MAX = 16 << 10
FIRST_FIVE = ("name", "lan", "pool", "lease", "key")
LETTERS_MAX = 31


def _without(lines: list[str], key: str) -> tuple[str, int]:
    """A text without the line of `key`: what misses it is wrong, or else the end is."""
    left = [line for line in lines if not line.startswith(f"{key} ")]
    number = 2 if key == "lan" else len(lines)  # `pool` stands there now, below no `lan`
    return "\n".join(left) + "\n", number


def wrong(site: Site) -> list[tuple[str, int]]:
    """Texts that are wrong, each with the line in which the first fault stands."""
    lines = site.text().splitlines()

    def put(number: int, text: str) -> tuple[str, int]:
        return "\n".join([*lines[: number - 1], text, *lines[number:]]) + "\n", number

    def more(text: str) -> tuple[str, int]:
        return "\n".join([*lines, text]) + "\n", len(lines) + 1

    first, last = site.pool
    net, bits, free = site.net, site.net.prefixlen, site.free()
    outside = "8.8.4.4"
    plc = site.hosts[0]
    proto, taken, _, _ = site.forwards[0]
    swapped = [lines[0], lines[2], lines[1], *lines[3:]]
    pooled_host = [*lines[:2], lines[5], f"pool {plc[1]} {plc[1]}", *lines[3:5], *lines[6:]]
    return [
        put(1, f"name {site.name.upper()}"), put(1, "name a;reboot"), put(1, "name -x"),
        put(1, "name 7x"), put(1, f"name {'x' * (LETTERS_MAX + 1)}"), put(1, f"name {site.name}\t"),
        put(1, f"name {site.name}\x01"), put(1, f"name {site.name} \x00more"),
        put(1, f"name {site.name}\u00e5"), put(1, f"name {site.name} more"),
        put(2, f"lan {site.own}"), put(2, f"lan {outside}/24"), put(2, f"lan {net[0]}/{bits}"),
        put(2, f"lan {net[-1]}/{bits}"), put(2, "lan 10.1.2.300/24"), put(2, f"lan {site.own}/30"),
        put(2, f"lan {site.own}/15"), put(2, "lan 10.01.2.3/24"), put(2, "lan 172.32.0.7/24"),
        put(3, f"pool {last} {first}"), put(3, f"pool {first} {outside}"),
        put(3, f"pool {site.own} {site.own}"), put(3, f"pool {net[1]} {net[-2]}"),
        put(3, f"pool {net[0]} {net[0]}"), put(4, "lease 119"), put(4, "lease 86401"),
        put(4, "lease 1h"), put(5, f"key {site.key[:-1]}"), put(5, f"key {site.key[:-1]}g"),
        put(5, f"key {site.key[:-1]}A"), put(5, f"key {site.key}0"),
        more(f"host {plc[0]} {free} twin"), more(f"host {drawn_mac()} {plc[1]} twin"),
        more(f"host {drawn_mac()} {free} {plc[2]}"), more(f"host {drawn_mac()} {free} {site.name}"),
        more(f"host {drawn_mac()} {first} twin"), more(f"host {drawn_mac()} {site.own} twin"),
        more(f"host {drawn_mac()} {outside} twin"), more(f"host 02:50:4c {free} twin"),
        more(f"host {drawn_mac('03:50')} {free} twin"), more(f"host {drawn_mac('0A:50')} {free} b"),
        more(f"forward {proto} {taken} {plc[1]} 80"), more(f"forward tcp 0 {plc[1]} 80"),
        more(f"forward tcp 080 {plc[1]} 80"), more(f"forward udp 65536 {plc[1]} 80"),
        more(f"forward udp 9 {plc[1]} 0"), more(f"forward udp 9 {plc[1]}"),
        more(f"forward sctp 9 {plc[1]} 80"), more(f"forward tcp 9 {free} 80"),
        more(f"forward tcp 9 {outside} 80"), more("block 9.9.9.9/24"), more("block 9.9.9.0"),
        more("block 8.0.0.0/7"), more("block 9.9.9.9/33"), more("route 9.9.9.0/24"),
        more("name $(reboot)"), more(secrets.choice(lines[:5])),
        _without(lines, "lan"), _without(lines, secrets.choice([*FIRST_FIVE[:1], *FIRST_FIVE[2:]])),
        (site.text().replace("\n", "\r\n"), 1), ("", 1), (site.text()[:-1], len(lines)),
        ("\n".join(swapped) + "\n", 2), ("\n".join(pooled_host) + "\n", 4),
    ]  # fmt: skip


def too_large(site: Site) -> str:
    """A text of right lines alone that is a byte longer than a configuration may be."""
    return _filled(site.text(), SIZE_MAX + 1)


def _filled(text: str, size: int) -> str:
    """The same with comments, in lines of at most 64 bytes, so that it has `size` bytes."""
    while (left := size - len(text)) > 0:
        line = min(64, left) if left != 65 else 60
        text += "#" * (line - 1) + "\n"
    return text


def smallest(plc: str) -> tuple[Site, str]:
    """The smallest network, one address to give away; limits of numbers, lines in another order."""
    net = local_net(29)
    own, one, pool = _DRAW.sample([str(net[at]) for at in range(1, 7)], 3)
    name = "n" + "".join(_DRAW.choice("abcxyz019-") for _ in range(LETTERS_MAX - 1))
    site = Site(name, f"{own}/29", (pool, pool), 120, secrets.token_hex(16),
                ((plc, one, "p"),),
                (("tcp", 1, one, 65535), ("udp", 65535, one, 1), ("udp", 1, one, 1)),
                ("100.64.0.0/10", "1.2.3.4/32", "23.0.0.0/8"))  # fmt: skip
    lines = site.text().splitlines()
    name_line, lan, pool_line, lease, key, host, *rest = lines
    order = ["# route 1.2.3.0/24", "", rest.pop(), "   ", lan, host, *rest[:2], lease, key,
             pool_line.replace(" ", "   ") + " ", *rest[2:], "#", name_line]  # fmt: skip
    return site, _filled("\n".join(order) + "\n", SIZE_MAX)


def largest(plc: str) -> tuple[Site, str]:
    """The widest network, with as many machines and doors as a text of 16 KiB can name."""
    site = Site.draw(plc, drawn_mac(), bits=(16,)).changed(lease=86400)
    hosts, forwards, taken = list(site.hosts), list(site.forwards), {one[1] for one in site.hosts}
    doors = _DRAW.sample(range(20000, 60000), 120)
    for number, door in enumerate(doors):
        if (address := site.free()) in taken:
            continue
        taken.add(address)
        hosts.append((drawn_mac(), address, f"m{number}-{word()}"))
        forwards.append((_DRAW.choice(("tcp", "udp")), door, address, port()))
    site = site.changed(hosts=tuple(hosts), forwards=tuple(forwards))
    return site, site.text()

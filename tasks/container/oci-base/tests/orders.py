"""A list and parcels of the bench's own, drawn for one verification, that no kit has seen."""

from __future__ import annotations

import random
from collections.abc import Mapping

from compose import Layer, Order
from parcel import Entry, Parcel

#: Where the second image carries what is asked of it when it runs.
PIER = "srv/pier"
_ODD = "Főtanúsítvány 'n' \"$HOME\" `id` * [x] %s é.crt"
#: Names that are equal, or stand the other way round, to who takes them for numbers.
_NUMBERS = ("1", "1.0", "1e0", "10", "9", "007", "7", "0x7", "+7", "-1")
#: Signs of two, three and four bytes.
_SIGNS = ("é", "ß", "ת", "ࠀ", "€", "港", "힣", "豈", "￮", "𐀀", "🚢", "𠀀")


def file(path: str, data: bytes, mode: int = 0o644, uid: int = 0, gid: int = 0) -> Entry:
    """An entry of a manifest."""
    return Entry("file", path, mode, uid, gid, data=data)


def directories(*paths: str) -> list[Entry]:
    """Entries of directories of mode 0755."""
    return [Entry("dir", path, 0o755) for path in paths]


def another(
    draw: random.Random, base: Order, own: Mapping[str, Parcel]
) -> tuple[Order, dict[str, Parcel]]:
    """A list that no kit has seen, and all parcels that it names.

    It begins with the delivered base-files, musl and busybox, so that what comes of it can run.
    """
    word = f"{draw.randrange(16**8):08x}"
    signs = "".join(draw.sample(_SIGNS, 5)) + draw.choice("港€") + draw.choice("🚢𐀀")
    desk = f'{PIER}/the desk\'s "{word}" {signs}'
    version = f"{draw.randrange(9)}.{draw.randrange(99)}~rc+{word}"
    long = "/".join(["srv", "pier", *(f"{word}-{n}" + "m" * 30 for n in range(4))])
    deep = ["/".join(long.split("/")[:n]) for n in range(3, 7)]
    tall = f"{deep[2]}/{'d' * (153 - len(deep[2]))}"
    every = bytes(range(256)) * 2
    pier = Parcel("pier", version, (
        *directories("srv", PIER, f"{PIER}/old", f"{PIER}/old/deep", f"{PIER}/kept",
                     desk),
        file(f"{PIER}/tally", b'#!/bin/sh\ncat /srv/pier/state; echo "$1" | sha256sum\n', 0o755),
        file(f"{PIER}/state", f"first {word}\n".encode()),
        file(f"{PIER}/gone", b"should not be seen\n"),
        file(f"{PIER}/old/deep/file", word.encode()),
        file(f"{PIER}/old/file", b"x" * 513),
        Entry("hardlink", f"{PIER}/old/name", 0o644, 0, 0, f"{PIER}/old/file"),
        file(f"{PIER}/kept/file", b"y" * 512),
    ))  # fmt: skip
    cargo = Parcel(f"cargo+{word[:3]}", "1", (
        *directories("srv", *deep),
        Entry("dir", f"{PIER}/shared", 0o2775, 0, 4321),
        file(f"{PIER}/shared/set user", every + draw.randbytes(777), 0o4755, 65535, 12),
        file(f"{PIER}/shared/empty", b"", 0o600, draw.randrange(60000), 1),
        file(f"{PIER}/shared/{_ODD}", b"\0\1\2" + every, 0o440),
        file(f"{PIER}/shared/-n", b"\n\n"),
        file(f"{PIER}/shared/{signs}", signs.encode()),
        file(f"{PIER}/shared/bulk", draw.randbytes(4096) * draw.randrange(260, 300)),
        file(f"{PIER}/shared.first", b"sorts before what lies in shared\n"),
        file(f"{long}/{'z' * 20}", word.encode() * 200, 0o751),
        Entry("dir", tall, 0o700, 9, 9),
        file(f"{tall}/{'y' * 100}", b"as long as a path can be\n"),
        file(f"{PIER}/shared/#= ", word.encode()),
        Entry("symlink", f"{PIER}/shared/far", 0o777, 0, 0, "far/" * 24 + word[:4]),
        Entry("hardlink", f"{PIER}/shared/twin", 0o4755, 65535, 12, f"{PIER}/shared/set user"),
        Entry("symlink", f"{PIER}/shared/away", 0o777, 7, 8, f"../{word} or $nowhere/&"),
        Entry("symlink", f"{PIER}/manifest", 0o777, 0, 0, "state"),
        file(f"{PIER}/duty", b"of cargo\n"),
    ), needs=("pier",))  # fmt: skip
    customs = Parcel("customs", f"2-{word}", (
        *directories("srv", PIER),
        file(f"{PIER}/duty", f"of customs {word}\n".encode(), 0o640, 5, 6),
    ), needs=(cargo.name, "pier"), replaces=(cargo.name,))  # fmt: skip
    tide = Parcel("tide", version, (
        *directories("srv", PIER),
        file(f"{PIER}/state", f"second {word}\n".encode(), 0o444, 10001, 10001),
        Entry("symlink", f"{PIER}/duty", 0o777, 0, 0, "state"),
        Entry("symlink", f"{PIER}/manifest", 0o777, 1, 1, "duty"),
    ), needs=("pier",), replaces=(cargo.name, "customs", "pier"))  # fmt: skip
    again = Parcel("again", "1", (
        *directories(f"{PIER}/old"),
        file(f"{PIER}/old/file", f"third {word}\n".encode()),
    ))  # fmt: skip
    counted = [Parcel(name, name) for name in draw.sample(("9", "10", "1", "1.0", "007", "7"), 4)]
    at_top = draw.sample(_NUMBERS, 8)
    numbers = Parcel("2.0", "0", (
        *directories(*at_top[:4], "0", "00", "10.0"),
        *(file(path, f"{path} {word}\n".encode()) for path in at_top[4:]),
        *(file(f"0/{path}", path.encode()) for path in _NUMBERS),
    ), needs=tuple(p.name for p in counted))  # fmt: skip
    names = dict(base.packages)
    system = [("package", name, names[name]) for name in ("base-files", "musl", "busybox")]
    mine = [pier, cargo, customs, tide, again, numbers, *counted]
    steps = {p.name: ("package", p.name, p.version) for p in mine}
    order = Order(
        f'quay/{word}:{version[:3]} "a\\b" {signs}', _epoch(draw), "10001:10001", f"/{desk}",
        ("PATH=/bin:/usr/bin", f"A=\\n \"{word}\" $HOME \\", "EMPTY=", f"Å=ä=ö'{signs}"),
        (f"/{PIER}/tally",), ("one word", '"two"', "\\three\\", signs, " "),
        (
            ("se.harbour.æ", f'back\\slash "quoted" {word}'),
            ("b", "{}[],:"),
            ("empty", ""),
            (signs, f"'{signs}'"),
            ("a", "%s &amp; \\u0041"),
        ),
        (
            Layer("system", (*system, steps["pier"])),
            Layer("goods & more", (steps[cargo.name], steps["customs"])),
            Layer(
                f'"{word}"',
                (("remove", f"{PIER}/old"), steps["tide"], ("remove", f"{PIER}/gone")),
            ),
            Layer("nothing", ()),
            Layer("nor here", ()),
            Layer("again", (steps["again"],)),
            Layer(f"\\layer \\\"{signs}\\", tuple(steps[p.name] for p in (numbers, *counted))),
            *(Layer(f"{n} {word}", ()) for n in range(draw.randrange(4, 9))),
            Layer("numbers gone", tuple(("remove", path) for path in draw.sample(at_top, 3))),
        ),
    )  # fmt: skip
    return order, {p.name: p for p in mine} | {name: own[name] for _, name, _ in system}


def _epoch(draw: random.Random) -> int:
    """A time that 31 bits do not hold, or 32: the small lists have all that they do."""
    return draw.choice((2**31, 2**32)) + draw.randrange(10**9)

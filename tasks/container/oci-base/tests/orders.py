"""Lists and parcels of the bench's own, drawn for one verification: good ones and bad ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import tarform
from compose import Layer, Order
from parcel import Entry, Parcel

#: Where the second image carries what is asked of it when it runs.
PIER = "srv/pier"
_ODD = "Főtanúsítvány 'n' \"$HOME\" `id` * [x] %s é.crt"


def _file(path: str, data: bytes, mode: int = 0o644, uid: int = 0, gid: int = 0) -> Entry:
    return Entry("file", path, mode, uid, gid, data=data)


def _dirs(*paths: str) -> list[Entry]:
    return [Entry("dir", path, 0o755) for path in paths]


def another(
    draw: random.Random, base: Order, own: Mapping[str, Parcel]
) -> tuple[Order, dict[str, Parcel]]:
    """A list that no kit has seen, and all parcels that it names.

    It begins with the delivered base-files, musl and busybox, so that what comes of it can run.
    """
    word = f"{draw.randrange(16**8):08x}"
    version = f"{draw.randrange(9)}.{draw.randrange(99)}~rc+{word}"
    long = "/".join(["srv", "pier", *(f"{word}-{n}" + "m" * 30 for n in range(4))])
    deep = ["/".join(long.split("/")[:n]) for n in range(3, 7)]
    every = bytes(range(256)) * 2
    pier = Parcel("pier", version, (
        *_dirs("srv", PIER, f"{PIER}/old", f"{PIER}/old/deep", f"{PIER}/kept"),
        _file(f"{PIER}/tally", b'#!/bin/sh\ncat /srv/pier/state; echo "$1" | sha256sum\n', 0o755),
        _file(f"{PIER}/state", f"first {word}\n".encode()),
        _file(f"{PIER}/gone", b"should not be seen\n"),
        _file(f"{PIER}/old/deep/file", word.encode()),
        _file(f"{PIER}/old/file", b"x" * 513),
        _file(f"{PIER}/kept/file", b"y" * 512),
    ))  # fmt: skip
    cargo = Parcel(f"cargo+{word[:3]}", "1", (
        *_dirs("srv", *deep),
        Entry("dir", f"{PIER}/shared", 0o2775, 0, 4321),
        _file(f"{PIER}/shared/set user", every + draw.randbytes(777), 0o4755, 65535, 12),
        _file(f"{PIER}/shared/empty", b"", 0o600, draw.randrange(60000), 1),
        _file(f"{PIER}/shared/{_ODD}", b"\0\1\2" + every, 0o440),
        _file(f"{PIER}/shared/-n", b"\n\n"),
        _file(f"{PIER}/shared.first", b"sorts before what lies in shared\n"),
        _file(f"{long}/{'z' * 20}", word.encode() * 200, 0o751),
        Entry("hardlink", f"{PIER}/shared/twin", 0o4755, 65535, 12, f"{PIER}/shared/set user"),
        Entry("symlink", f"{PIER}/shared/away", 0o777, 7, 8, f"../{word} or $nowhere/&"),
        Entry("symlink", f"{PIER}/manifest", 0o777, 0, 0, "state"),
        _file(f"{PIER}/duty", b"of cargo\n"),
    ), needs=("pier",))  # fmt: skip
    customs = Parcel("customs", f"2-{word}", (
        *_dirs("srv", PIER),
        _file(f"{PIER}/duty", f"of customs {word}\n".encode(), 0o640, 5, 6),
    ), needs=(cargo.name, "pier"), replaces=(cargo.name,))  # fmt: skip
    tide = Parcel("tide", version, (
        *_dirs("srv", PIER),
        _file(f"{PIER}/state", f"second {word}\n".encode(), 0o444, 10001, 10001),
        Entry("symlink", f"{PIER}/duty", 0o777, 0, 0, "state"),
        Entry("symlink", f"{PIER}/manifest", 0o777, 1, 1, "duty"),
    ), needs=("pier",), replaces=(cargo.name, "customs", "pier"))  # fmt: skip
    again = Parcel("again", "1", (
        *_dirs(f"{PIER}/old"),
        _file(f"{PIER}/old/file", f"third {word}\n".encode()),
    ))  # fmt: skip
    names = dict(base.packages)
    system = [("package", name, names[name]) for name in ("base-files", "musl", "busybox")]
    mine = [pier, cargo, customs, tide, again]
    steps = {p.name: ("package", p.name, p.version) for p in mine}
    order = Order(
        f"quay/{word}:{version[:3]}", 946684799 + draw.randrange(10**9), "10001:10001", f"/{PIER}",
        ("PATH=/bin:/usr/bin", f"A=\\n \"{word}\" $HOME \\", "EMPTY=", "Å=ä=ö'"),
        (f"/{PIER}/tally",), ("one word", '"two"', "\\three\\"),
        (
            ("se.harbour.æ", f'back\\slash "quoted" {word}'),
            ("b", "{}[],:"),
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
            Layer("again", (steps["again"],)),
        ),
    )  # fmt: skip
    return order, {p.name: p for p in mine} | {name: own[name] for _, name, _ in system}


@dataclass(frozen=True)
class Bad:
    """Something to be refused: a list, and the files beside it."""

    name: str
    listing: bytes
    files: Mapping[str, bytes]


def _small(*layers: Layer, **changes) -> Order:
    made = Order("small:1", 1_000_000_000, "0:0", "/", (), ("/one",), (), (), layers)
    return replace(made, **changes)


def _layer(*steps: Parcel | str) -> Layer:
    return Layer("only", tuple(
        ("remove", step) if isinstance(step, str) else ("package", step.name, step.version)
        for step in steps
    ))  # fmt: skip


class Small:
    """A few small parcels, drawn; what is good about them, and what can be wrong."""

    def __init__(self, draw: random.Random) -> None:
        word = f"{draw.randrange(16**8):08x}"
        self.one = Parcel("one", word, (
            *_dirs("a", "a/b"),
            _file("a/file", f"{word}\n".encode() * 60),
            _file("a/b/other", draw.randbytes(512)),
            Entry("hardlink", "a/hard", 0o644, 0, 0, "a/file"),
            Entry("symlink", "a/soft", 0o777, 0, 0, "b"),
        ))  # fmt: skip
        self.two = Parcel("two", "2", (*_dirs("a"), _file("a/second", b"2")), needs=("one",))

    def good(self) -> Bad:
        """What nothing is wrong with."""
        order = _small(_layer(self.one, self.two))
        return _case("good", order, self.one, self.two)

    def damaged(self) -> list[Bad]:
        """Parcels that are not of the one form, or not what they are called."""
        one, order = self.one, _small(_layer(self.one))
        packed, manifest = one.pack(), one.manifest()
        members = one.members(manifest.encode())
        flipped = bytearray(packed)
        flipped[packed.index(one.entries[2].data) + 300] ^= 1
        extra = tarform.Member("data/000003", "0", 0o644, 0, 0, 0, data=b"more")
        late = replace(members[1], mtime=1)
        lines = manifest.splitlines(keepends=True)
        unsorted = "".join([*lines[:3], lines[4], lines[3], *lines[5:]])
        wrong = {
            "content": bytes(flipped),
            "cut-off": packed[:-1024],
            "half": packed[:1400],
            "longer": packed + bytes(512),
            "extra-member": tarform.write([*members, extra]),
            "member-missing": tarform.write(members[:-1]),
            "time": tarform.write([members[0], late, *members[2:]]),
            "other-name": one.pack(manifest.replace("name\tone", "name\tother")),
            "other-version": one.pack(manifest.replace("version\t", "version\t0")),
            "unsorted": one.pack(unsorted),
            "other-size": one.pack(manifest.replace("\t512\t", "\t511\t")),
            "climbs": one.pack(manifest.replace("\ta/b/other", "\ta/../other")),
            "absolute": one.pack(manifest.replace("dir\t0755\t0\t0\ta\n", "dir\t0755\t0\t0\t/a\n")),
            "unknown-entry": one.pack(manifest + "pipe\t0644\t0\t0\tz\n"),
            "empty": b"",
        }
        text = order.text().encode()
        found = [Bad(name, text, {one.file: data}) for name, data in wrong.items()]
        return [*found, Bad("missing", text, {self.two.file: self.two.pack()})]

    def misfits(self) -> list[Bad]:
        """Packages that do not fit each other."""
        one, two = self.one, self.two
        clash = Parcel("clash", "1", (*_dirs("a"), _file("a/second", b"mine")))
        first = Parcel("first", "1", (*_dirs("a"), _file("a/second", b"1")), replaces=("two",))
        loose = Parcel("loose", "1", (Entry("dir", "a", 0o700),))
        folder = Parcel("folder", "1", _tuple(_dirs("a/second")), replaces=("two",))
        hole = Parcel("hole", "1", (_file("a/no/file", b"x"),))
        through = Parcel("through", "1", (_file("a/soft/file", b"x"),))
        hard = Parcel("hard", "1", (_file("a/file", b"x"),), replaces=("one",))
        below = Parcel("below", "1", (_file("a/b/new", b"x"),))
        back = Parcel("back", "1", _tuple(_dirs("a/b")))

        def layers(name: str, *steps: tuple[Parcel | str, ...]) -> Bad:
            held = {s.name: s for step in steps for s in step if isinstance(s, Parcel)}
            return _case(name, _small(*(_layer(*step) for step in steps)), *held.values())

        return [
            layers("need-missing", (two,)),
            layers("need-later", (two, back), (one,)),
            layers("clash", (one, two, clash)),
            layers("clash-in-layers", (one, two), (clash,)),
            layers("replaces-later", (one, first, two)),
            layers("other-directory", (one, loose)),
            layers("directory-over-file", (one, two, folder)),
            layers("no-directory", (one, hole)),
            layers("through-link", (one, through)),
            layers("over-hard-link", (one, hard)),
            layers("remove-nothing", (one,), ("a/none",)),
            layers("remove-own", (one, "a/b/other")),
            layers("remove-hard", (one,), ("a/hard",)),
            layers("below-removed", (one,), ("a/b", below)),
            layers("back-at-once", (one,), ("a/b", back)),
            layers("remove-twice", (one,), ("a/b",), ("a/b",)),
        ]

    def listings(self) -> list[Bad]:
        """Lists that are none."""
        text = _small(_layer(self.one, self.two)).text()
        wrong = {
            "unknown-word": text.replace("\nlayer\t", "\nvolume\t/a\nlayer\t"),
            "no-user": text.replace("user\t0:0\n", ""),
            "epoch-twice": text.replace("user\t", "epoch\t5\nuser\t"),
            "order": text.replace("entrypoint\t", "label\ta\tb\nentrypoint\t"),
            "package-twice": text + f"package\tone\t{self.one.version}\n",
            "no-version": text.replace("package\ttwo\t2", "package\ttwo"),
            "form": text.replace("list\t1", "list\t2"),
            "outside": text.replace("\nlayer\tonly", ""),
        }
        held = {p.file: p.pack() for p in (self.one, self.two)}
        return [Bad(f"list-{name}", listing.encode(), held) for name, listing in wrong.items()]


def _tuple(entries: list[Entry]) -> tuple[Entry, ...]:
    return tuple(entries)


def _case(name: str, order: Order, *parcels: Parcel) -> Bad:
    return Bad(name, order.text().encode(), {p.file: p.pack() for p in parcels})

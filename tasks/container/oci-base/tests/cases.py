"""Small lists and parcels of the bench's own: right ones, and all ways to be wrong.

What is right lies among what is wrong, and no name tells one from the other.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from compose import Layer, Order
from orders import directories, file
from parcel import Entry, Parcel

from benchflow.bench import tar_canon


@dataclass(frozen=True)
class Case:
    """A list, and the files beside it. `order` and `parcels` are there when nothing is wrong."""

    name: str
    listing: bytes
    files: Mapping[str, bytes]
    order: Order | None = None
    parcels: Mapping[str, Parcel] = field(default_factory=dict)


Step = Parcel | str


def _order(*layers: tuple[Step, ...]) -> Order:
    made = tuple(
        Layer(f"layer {number}", tuple(
            ("remove", step) if isinstance(step, str) else ("package", step.name, step.version)
            for step in steps
        ))
        for number, steps in enumerate(layers, 1)
    )  # fmt: skip
    return Order("small:1", 1_000_000_000, "0:0", "/", (), ("/one",), (), (), made)


class Small:
    """A few small parcels, drawn; what is right about them, and what can be wrong."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        word = f"{draw.randrange(16**8):08x}"
        self.one = Parcel(f"{draw.choice('abxyz')}{draw.randrange(16**4):x}", word, (
            *directories("a", "a/b"),
            file("a/file", f"{word}\n".encode() * 60),
            file("a/b/other", draw.randbytes(512)),
            Entry("hardlink", "a/hard", 0o644, 0, 0, "a/file"),
            Entry("symlink", "a/soft", 0o777, 0, 0, "b"),
        ))  # fmt: skip
        self.two = Parcel("two", "2", (*directories("a"), file("a/second", b"2")),
                          needs=(self.one.name,))  # fmt: skip
        self._back = Parcel("back", "1", tuple(directories("a/b")))

    def _case(self, name: str, *layers: tuple[Step, ...], right: bool = False) -> Case:
        """A case of these packages under names and in a folder that are drawn, and one package
        more that does no harm: who knows these sources knows no list by its looks."""
        word = f"{self._draw.randrange(16**6):06x}"
        steps = [[_renamed(step, word) for step in layer] for layer in layers]
        ballast = Parcel(f"ballast-{word}", word, (
            *directories(f"b{word}"), file(f"b{word}/stone", word.encode()),
        ))  # fmt: skip
        layer = self._draw.choice(steps)
        layer.insert(self._draw.randrange(len(layer) + 1), ballast)
        order = replace(_order(*map(tuple, steps)), ref=f"quay/{word}:1")
        held = {step.name: step for made in steps for step in made if isinstance(step, Parcel)}
        files = {p.file: p.pack() for p in held.values()}
        return Case(name, order.text().encode(), files, order if right else None, held)

    def right(self) -> list[Case]:
        """What nothing is wrong with, each beside something that is refused."""
        one, two = self.one, self.two
        mine = Parcel("mine", "1", (file("a/second", b"mine"),), replaces=("two",))
        soft = Parcel("soft", "1", (file("a/soft", b"no link"),), replaces=(one.name,))
        whole = []
        # The lists of the damaged parcels and, but for a line, of those that are none.
        for name, layer in (("whole", (one,)), ("pair", (one, two))):
            order, held = _order(layer), {parcel.name: parcel for parcel in layer}
            files = {parcel.file: parcel.pack() for parcel in layer}
            whole.append(Case(name, order.text().encode(), files, order, held))
        return whole + [
            self._case(name, *layers, right=True)
            for name, layers in {
                "plain": ((one, two),),
                "alone": ((one,),),
                "need-beside": ((two, one),),
                "need-before": ((one,), (two,)),
                "replaced-beside": ((one, two, mine),),
                "replaced-later": ((one, two), (mine, soft)),
                "removed-with-hard-links": ((one,), ("a",)),
                "back-later": ((one,), ("a/b",), (self._back,)),
                "replaced-and-removed": ((one, soft), ("a/soft", two)),
            }.items()
        ]

    def misfits(self) -> list[Case]:
        """Packages that do not fit each other."""
        one, two, back = self.one, self.two, self._back
        clash = Parcel("clash", "1", (*directories("a"), file("a/second", b"mine")))
        first = Parcel("first", "1", (*directories("a"), file("a/second", b"1")), replaces=("two",))
        number = self._draw.randrange(1, 60000)
        shared = {
            "mode": self._draw.choice((0o700, 0o775, 0o1755)), "uid": number, "gid": number,
        }  # fmt: skip
        others = {
            key: Parcel(key, "1", (replace(Entry("dir", "a", 0o755), **{key: value}),))
            for key, value in shared.items()
        }
        under = Parcel("under", "1", (file("a/b/other/x", b"x"),))
        inside = Parcel("inside", "1", tuple(directories("a/file/x")))
        folder = Parcel("folder", "1", tuple(directories("a/second")), replaces=("two",))
        flat = Parcel("flat", "1", (file("a/b", b"x"),), replaces=(one.name,))
        hole = Parcel("hole", "1", (file("a/no/file", b"x"),))
        through = Parcel("through", "1", (file("a/soft/file", b"x"),))
        hard = Parcel("hard", "1", (file("a/file", b"x"),), replaces=(one.name,))
        twin = Parcel("twin", "1", (file("a/hard", b"x"),), replaces=(one.name,))
        below = Parcel("below", "1", (file("a/b/new", b"x"),))
        other = Parcel("other", "1", (file("a/second", b"x"),), replaces=(one.name,))
        made = {
            "need-missing": ((two,),),
            "need-later": ((two, back), (one,)),
            "clash": ((one, two, clash),),
            "clash-in-layers": ((one, two), (clash,)),
            "replaces-later": ((one, first, two),),
            "replaces-another": ((one, two), (other,)),
            **{f"other-{key}": ((one, other),) for key, other in others.items()},
            **{f"other-{key}-later": ((one,), (other,)) for key, other in others.items()},
            "below-file": ((one, under),),
            "below-file-later": ((one,), (under,)),
            "below-hard-link": ((one,), (inside,)),
            "remove-below-file": ((one,), ("a/b/other/x",)),
            "directory-over-file": ((one, two, folder),),
            "file-over-directory": ((one,), (flat,)),
            "no-directory": ((one, hole),),
            "through-link": ((one, through),),
            "over-hard-link": ((one, hard),),
            "over-hard-name": ((one,), (twin,)),
            "remove-nothing": ((one,), ("a/none",)),
            "remove-own": ((one, "a/b/other"),),
            "remove-hard": ((one,), ("a/hard",)),
            "remove-linked": ((one,), ("a/file",)),
            "below-removed": ((one,), ("a/b", below)),
            "back-at-once": ((one,), ("a/b", back)),
            "remove-twice": ((one,), ("a/b",), ("a/b",)),
            "removed-with-its-folder": ((one,), ("a/b/other", "a/b")),
        }
        return [self._case(name, *layers) for name, layers in made.items()]

    def damaged(self) -> list[Case]:
        """Parcels that are not of the one form, or not what they are called; each has its place
        among others, which are whole."""
        one = self.one
        wrong = {**self._archives(), **self._manifests()}
        found = []
        for name, data in wrong.items():
            text, files = self._among()
            found.append(Case(name, text, {**files, one.file: data}))
        text, files = self._among()
        return [*found, Case("missing", text, {f: files[f] for f in files if f != one.file})]

    def _among(self) -> tuple[bytes, dict[str, bytes]]:
        """A list with `one` at a place that is drawn, and all its parcels."""
        word = f"{self._draw.randrange(16**6):06x}"
        others = [
            Parcel(f"{n}{word}", word, (*directories(f"{n}{word}"), file(f"{n}{word}/f", b"x" * n)))
            for n in range(self._draw.randrange(3))
        ]
        layer: list[Step] = [self.one, self.two, *others]
        self._draw.shuffle(layer)
        files = {step.file: step.pack() for step in layer if isinstance(step, Parcel)}
        return _order(tuple(layer)).text().encode(), files

    def _archives(self) -> dict[str, bytes]:
        one, draw = self.one, self._draw
        packed = one.pack()
        members = one.members(one.manifest().encode())
        starts, at = [], 0
        for member in members:
            starts.append(at)
            at += tar_canon.BLOCK + -(-len(member.data) // tar_canon.BLOCK) * tar_canon.BLOCK
        extra = tar_canon.Member("data/000003", "0", 0o644, 0, 0, 0, data=b"more")
        changed = {
            "time": {"mtime": draw.randrange(1, 99)}, "owner": {"uid": draw.randrange(1, 99)},
            "group": {"gid": draw.randrange(1, 99)}, "mode": {"mode": draw.choice((0o600, 0o4777))},
        }  # fmt: skip
        headers = {
            "user-name": (265, b"root"), "gnu-magic": (257, b"ustar  \0"), "old-type": (156, b"\0"),
            "link-name": (157, b"x"), "device": (329, b"0000000\0"), "after-prefix": (500, b"x"),
            "in-prefix": (345, b"data"),
        }  # fmt: skip
        # PARCEL itself, and one of the files.
        places = {"": draw.randrange(1, len(members)), "-of-the-manifest": 0}
        file_ = draw.randrange(1, len(members))
        inside = starts[file_] + tar_canon.BLOCK + draw.randrange(len(members[file_].data))
        # The manifest and the last file do not fill their last block.
        gaps = [starts[n] + tar_canon.BLOCK + len(members[n].data) for n in (0, len(members) - 1)]
        end = len(packed) - draw.randrange(1, 2 * tar_canon.BLOCK)
        return {
            "content": _changed(packed, inside),
            "filling": _changed(packed, gaps[1]),
            "filling-of-the-manifest": _changed(packed, gaps[0]),
            "end-block": _changed(packed, end),
            "cut-off": packed[:-1024],
            "one-block-less": packed[:-512],
            "half": packed[:1400],
            "longer": packed + bytes(512),
            "longer-by-a-byte": packed + b"\n",
            "empty": b"",
            "extra-member": tar_canon.write([*members, extra]),
            "member-missing": tar_canon.write(members[:-1]),
            "members-in-turn": tar_canon.write([members[0], members[2], members[1]]),
            **{
                f"{name}{where}": tar_canon.write(
                    [replace(m, **change) if n == at else m for n, m in enumerate(members)]
                )
                for name, change in changed.items()
                for where, at in places.items()
            },
            **{
                f"{name}{where}": _header(packed, starts[at], *spot)
                for name, spot in headers.items()
                for where, at in places.items()
                if name != "in-prefix" or at
            },
            "checksum": _header(packed, starts[file_], 148, b"000001\0 ", sums=False),
        }

    def _manifests(self) -> dict[str, bytes]:
        one, manifest = self.one, self.one.manifest()
        lines = manifest.splitlines(keepends=True)
        head, digest = "".join(lines[:3]), manifest.split("\t512\t")[1][:64]
        tail = "".join(lines[3:])
        made = {
            "other-form": manifest.replace("parcel\t1", "parcel\t2"),
            "other-name": manifest.replace("\nname\t", "\nname\to"),
            "other-version": manifest.replace("version\t", "version\t0"),
            "unsorted": "".join([*lines[:3], lines[4], lines[3], *lines[5:]]),
            "other-size": manifest.replace("\t512\t", "\t511\t"),
            "size-with-zero": manifest.replace("\t512\t", "\t0512\t"),
            "large-letters": manifest.replace(digest, digest.upper()),
            "climbs": manifest.replace("\ta/b/other", "\ta/../other"),
            "dot": manifest.replace("\ta/b/other", "\ta/./other"),
            "two-slashes": manifest.replace("\ta/b/other", "\ta//other"),
            "absolute": manifest.replace("dir\t0755\t0\t0\ta\n", "dir\t0755\t0\t0\t/a\n"),
            "backslash": manifest.replace("\ta/b/other", "\ta/b/oth\\er"),
            "control-character": manifest.replace("\ta/b/other", "\ta/b/oth\x01er"),
            "whiteout": manifest.replace("\ta/b/other", "\ta/b/.wh.other"),
            "mode-of-three": manifest.replace("dir\t0755\t0\t0\ta\n", "dir\t755\t0\t0\ta\n"),
            "large-owner": manifest.replace("dir\t0755\t0\t0\ta\n", "dir\t0755\t65536\t0\ta\n"),
            "large-group": manifest.replace("dir\t0755\t0\t0\ta\n", "dir\t0755\t0\t70000\ta\n"),
            "large-owner-of-file": manifest.replace("file\t0644\t0\t0", "file\t0644\t99999\t0"),
            "large-group-of-file": manifest.replace("file\t0644\t0\t0", "file\t0644\t0\t65536"),
            "large-group-of-link": manifest.replace("symlink\t0\t0", "symlink\t0\t65536"),
            "large-owner-of-link": manifest.replace("symlink\t0\t0", "symlink\t100000\t0"),
            "owner-with-zero": manifest.replace("symlink\t0\t0", "symlink\t00\t0"),
            "mode-with-nine": manifest.replace("file\t0644", "file\t0649"),
            "backslash-in-target": manifest.replace("\tb\ta/soft", "\tb\\c\ta/soft"),
            "control-character-in-target": manifest.replace("\tb\ta/soft", "\tb\x7f\ta/soft"),
            "unknown-entry": manifest + "pipe\t0644\t0\t0\tz\n",
            "twice": manifest + lines[-1],
            "blank-line": manifest + "\n",
            "no-line-feed": manifest[:-1],
            "need-twice": head + "needs\tone\nneeds\tone\n" + tail,
            "needs-unsorted": head + "needs\ttwo\nneeds\tone\n" + tail,
            "need-at-the-end": manifest + "needs\tone\n",
            "replaces-before-needs": head + "replaces\tx\nneeds\tone\n" + tail,
            "hard-link-to-nothing": manifest.replace("hardlink\ta/file", "hardlink\ta/files"),
            "no-target": manifest.replace("symlink\t0\t0\tb\t", "symlink\t0\t0\t\t"),
            "long-target": manifest.replace("\tb\ta/soft", f"\t{'b' * 101}\ta/soft"),
            "long-part": manifest.replace("\ta/soft", f"\ta/{'s' * 101}"),
        }
        assert all(text != manifest for text in made.values())
        packed = {name: one.pack(text) for name, text in made.items()}
        bytes_ = manifest.encode()
        for name, raw in (
            ("not-utf-8", bytes_.replace(b"a/b/other", b"a/b/oth\xe5er")),
            ("too-long-utf-8", bytes_.replace(b"a/b/other", b"a/b/oth\xc0\xafer")),
            ("zero-byte", bytes_.replace(b"a/b/other", b"a/b/oth\0er")),
        ):
            packed[name] = tar_canon.write(one.members(raw))
        return packed

    def listings(self) -> list[Case]:
        """Lists that are none."""
        text = _order((self.one, self.two)).text()
        layer = "\nlayer\tlayer 1"
        lines = text.splitlines(keepends=True)
        once = {line.split("\t")[0]: line for line in lines[:5]}
        wrong = {
            "unknown-word": text.replace(layer, f"\nvolume\t/a{layer}"),
            **{f"no-{word}": text.replace(line, "", 1) for word, line in once.items()},
            **{f"{word}-twice": text.replace(line, line * 2, 1) for word, line in once.items()},
            "no-entrypoint": text.replace("entrypoint\t/one\n", ""),
            "user-by-name": text.replace("user\t0:0", "user\troot"),
            "epoch-twice-and-another": text.replace("user\t", "epoch\t5\nuser\t"),
            "epoch-a-day": text.replace("epoch\t1000000000", "epoch\t2001-09-09"),
            "order": text.replace("entrypoint\t", "label\ta\tb\nentrypoint\t"),
            "env-late": text.replace(layer, f"\nenv\tA=b{layer}"),
            "env-without-value": text.replace("entrypoint\t", "env\tA\nentrypoint\t"),
            "package-twice": text + f"package\tone\t{self.one.version}\n",
            "no-version": text.replace("package\ttwo\t2", "package\ttwo"),
            "one-field-more": text.replace("workdir\t/", "workdir\t/\t/"),
            "form": text.replace("list\t1", "list\t2"),
            "outside": text.replace(layer, ""),
            "spaces": text.replace("workdir\t", "workdir "),
            "no-line-feed": text[:-1],
            "control-character": text.replace("/one", "/o\x01ne"),
        }
        assert all(listing != text for listing in wrong.values())
        made = {name: listing.encode() for name, listing in wrong.items()}
        made["not-utf-8"] = text.encode().replace(b"/one", b"/on\xe9")
        held = {p.file: p.pack() for p in (self.one, self.two)}
        return [Case(f"list-{name}", listing, held) for name, listing in made.items()]


def _renamed(step: Step, word: str) -> Step:
    """A package or a path to be removed, in a folder and under a name of this word."""

    def path(text: str) -> str:
        return f"a{word}{text[1:]}" if text == "a" or text.startswith("a/") else text

    if isinstance(step, str):
        return path(step)
    entries = tuple(
        replace(e, path=path(e.path), target=path(e.target) if e.kind == "hardlink" else e.target)
        for e in step.entries
    )
    names = {key: tuple(f"{n}-{word}" for n in getattr(step, key)) for key in ("needs", "replaces")}
    return replace(step, name=f"{step.name}-{word}", entries=entries, **names)


def _changed(packed: bytes, at: int) -> bytes:
    made = bytearray(packed)
    made[at] ^= 1
    return bytes(made)


def _header(packed: bytes, start: int, at: int, data: bytes, sums: bool = True) -> bytes:
    """A parcel of which one header says something else, with the right checksum if `sums`."""
    made = bytearray(packed)
    made[start + at : start + at + len(data)] = data
    if sums:
        header = made[start : start + tar_canon.BLOCK]
        made[start + 148 : start + 156] = b"%06o\0 " % (sum(header[:148]) + 256 + sum(header[156:]))
    return bytes(made)

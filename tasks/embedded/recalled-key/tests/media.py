"""The second disk: the bundles of this run, of both keys, under names drawn for it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bundle import HEAD, MANIFEST, RECALL, FieldVendor, NextVendor, Release

from benchflow.bench.media_disks import our_tool
from benchflow.boot import GuestError

#: Fails once, and says its word before that; healthy from then on.
SLOW = """#!/bin/sh
[ -e {folder}/slow ] && exit 0
echo {word}
sleep 8
touch {folder}/slow; sync
exit 1
"""
#: First it has no end, whatever is done to stop it in friendship.
SICK = """#!/bin/sh
n=$(($(cat {folder}/tries 2>/dev/null) + 1)); echo $n >{folder}/tries; sync
case $n in
1)
	trap '' HUP INT TERM
	echo {word}
	while :; do sleep 1; done
	;;
2) exit 3 ;;
esac
exit 1
"""
#: Within its ten seconds, and long enough that less patience shows, and a login that comes early.
FIRST = """#!/bin/sh
sleep 7
echo first >{folder}/order
"""
TELLS = """#!/bin/sh
echo {word}
echo second >>{folder}/order
update status >{folder}/status; head -n 1 /media/word >{folder}/media
update install /media/{other} >/dev/null 2>&1; echo $? >{folder}/refused
update rollback >/dev/null 2>&1; echo $? >>{folder}/refused
sync
"""
#: In version 1000 itself, which is never confirmed with it.
VAIN = """#!/bin/sh
update status >>{folder}/vain; sync
exit 1
"""
ENDS = """#!/bin/sh
echo {word}
exit 0
"""
#: So many scripts, each in time, together are not.
DAWDLES, DAWDLING = (
    """#!/bin/sh
echo {word}
sleep 9
""",
    8,
)
NOTHING = b"#!/bin/sh\nexit 0\n"
#: The room that a slot has for what is added; with the blocks' ends no more than 1 MiB.
MORE_FILES, MORE_BYTES = 16, 960 << 10
HANGS = """#!/bin/sh
echo {word} | tr -d _ | sed 's/^v/w/'
while :; do sleep 1000; done
"""


class Releases(dict[str, Release]):
    """By what they are for; `faults` says why one could not be made."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[str, str] = {}

    def __missing__(self, name: str) -> Release:
        why = self.faults.get(name, "nobody knows it")
        raise AssertionError(f"version {name!r} cannot be made from the slot image [R8]: {why}")


@dataclass
class Media:
    """`releases` by what they are for, `names` of the files, `words` that versions say."""

    folder: Path
    word: str
    place: str = field(default_factory=lambda: f"/data/bench-{secrets.token_hex(4)}")
    releases: Releases = field(default_factory=Releases)
    names: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def file(self, what: str) -> Path:
        self.names.setdefault(what, f"{secrets.token_hex(5)}.bundle")
        return self.folder / self.names[what]

    def path(self, what: str) -> str:
        """Where the unit finds a bundle."""
        if what in self.releases.faults:
            return f"/media/{self.releases[what].version}"
        return f"/media/{self.names[what]}"

    def text(self, what: str, script: str) -> bytes:
        self.words.setdefault(what, f"w{secrets.token_hex(8)}")
        word = self.words[what]
        if script is HANGS:
            # Only a shell with its small tools can say the word.
            word = "_".join(word.replace("w", "v"))
        self.file("content")
        return script.format(folder=self.place, word=word, other=self.names["content"]).encode()

    def by_number(self) -> dict[int, Release]:
        return {one.version: one for one in self.releases.values()}

    def disk(self) -> Path:
        """An ext2 disk of all that."""
        path = self.folder.parent / f"{self.folder.name}.img"
        (self.folder / "word").write_text(f"{self.word}\n")
        size = sum(file.stat().st_size for file in self.folder.iterdir()) + (16 << 20)
        our_tool("mke2fs", "-q", "-t", "ext2", "-E", "root_owner=0:0", "-d", str(self.folder),
                 str(path), f"{size >> 10}k")  # fmt: skip
        return path


def of_the_field(media: Media, vendor: FieldVendor, recall: Path) -> None:
    """What units in the field were given, the delivered bundle, and what a thief would sign."""
    media.releases["first"] = vendor.release1
    media.file("recall").write_bytes(recall.read_bytes())
    low = 2 + secrets.randbelow(7)
    slow = 20 + secrets.randbelow(200)
    high = 300 + secrets.randbelow(601)
    for what, number, script in (("low", low, ""), ("slow", slow, SLOW), ("high", high, "")):
        health = {"70-bench": media.text(what, script)} if script else {}
        media.releases[what] = vendor.version(media.file(what), number, health)


def of_a_recall_in_vain(media: Media, again: FieldVendor) -> None:
    """The delivered release with a script that fails: `again` signs as the field does. It has no
    number of its own, so it is none of `releases`."""
    again.version(media.file("vain"), RECALL, {"70-bench": media.text("vain", VAIN)})


def of_a_thief(media: Media, old: FieldVendor, recall: Release) -> None:
    """Bundles by the recalled key that pretend to be newer: the field's system and the new one,
    for this board and for another, and one whose content is another."""
    newer = RECALL + 5000 + secrets.randbelow(10 ** secrets.choice((5, 6, 7, 8, 9)) - 10000)
    old.version(media.file("thief-old"), newer, {})
    text = old.manifest(newer + 1, recall.digest)
    old.false(media.file("thief-new"), text, content=recall.path)
    old.false(media.file("thief-board"), old.manifest(newer + 2, recall.digest, board="varde-4"))
    old.false(media.file("thief-other"), old.manifest(999999999, secrets.token_hex(32)))
    old.false(media.file("thief-low"), old.manifest(3, recall.digest), content=recall.path)


THEFTS = ("thief-old", "thief-new", "thief-board", "thief-other", "thief-low")
#: With what the vendor himself has signed with it: no unit may take the recall twice, either.
OF_THE_OLD_KEY = (*THEFTS, "recall", "high")


def more_files(taken: int) -> dict[str, bytes]:
    """As many health scripts as there is room for beside so many others."""
    names = [f"{number}-more" for number in range(75, 75 + MORE_FILES - taken)]
    size = MORE_BYTES - len(NOTHING) * MORE_FILES
    noise = secrets.token_hex(size // 2).encode()
    return {**dict.fromkeys(names, NOTHING), names[-1]: NOTHING + b"#" + noise}


def of_the_next_key(media: Media, vendor: NextVendor) -> None:
    """Versions after the recall, in the order in which they are installed."""
    media.releases["recall"] = vendor.release1
    number = RECALL
    for what in LATER:
        number += 1 + secrets.randbelow(400)
        health, others = _changes(media, what)
        path = media.file(what)
        try:
            media.releases[what] = vendor.version(path, number, health, others)
        except (AssertionError, GuestError) as error:
            media.releases.faults[what] = str(error)
            path.unlink(missing_ok=True)
    _none_to_take(media, vendor, number)


#: `next` and `cuts` are taken by either board; of the others each is given up.
LATER = ("next", "sick", "dawdles", "garbage", "ends", "hangs", "cuts")


def _changes(media: Media, what: str) -> tuple[dict[str, bytes], dict[str, tuple[bytes, int]]]:
    """What of a version is not that of version 1000: health scripts, and other files."""
    if what == "next":
        tells = {"60-bench": media.text("first", FIRST), "70-bench": media.text(what, TELLS)}
        return tells | more_files(len(tells)), {}
    if what == "dawdles":
        script = media.text(what, DAWDLES)
        return {f"{60 + n}-bench": script for n in range(DAWDLING)}, {}
    if what == "garbage":
        return {}, {"/boot/vmlinuz": (secrets.token_bytes(1 << 20), 0o644)}
    if what in ("ends", "hangs"):
        script = media.text(what, ENDS if what == "ends" else HANGS)
        return {}, {"/sbin/init": (script, 0o755)}
    return {"70-bench": media.text(what, SICK if what == "sick" else TELLS)}, {}


#: Manifests of another form: what of the right one is replaced, and by what.
FORMS: dict[str, tuple[bytes, bytes]] = {
    "magic": (b"BUNDLE-1", b"BUNDLE-2"),
    "lines": (b"\n", b"\r\n"),
    "less": (b"board=varde-3\nversion=", b"version="),
    "twice": (b"board=", b"board=varde-3\nboard="),
    "zero": (b"version=", b"version=0"),
    "minus": (b"version=", b"version=-"),
    "large": (b"version=", b"version=1000000000"),
    "none": (b"size=", b"note=1\nsize="),
}


def _none_to_take(media: Media, vendor: NextVendor, last: int) -> None:
    """What REFUSED lists. The content is zeros, but where only the end of it all says no."""
    recall, newer = vendor.release1, vendor.manifest(last + 1, vendor.release1.digest)

    def false(what: str, text: bytes = newer, **changes: Any) -> None:
        vendor.false(media.file(what), text, **changes)

    false("short", size=vendor.whole - 1 - secrets.randbelow(vendor.slot))
    false("head", size=secrets.randbelow(HEAD))
    false("long", size=vendor.whole + 1)
    head = newer.rstrip(b"\0")
    for what, (right, wrong) in FORMS.items():
        false(f"form-{what}", head.replace(right, wrong).ljust(MANIFEST, b"\0"))
    upper = head.replace(recall.digest.encode(), recall.digest.upper().encode())
    false("form-upper", upper.ljust(MANIFEST, b"\0"))
    false("form-tail", head.ljust(MANIFEST - 1, b"\0") + b"!")

    flipped = bytearray(vendor.sign(newer))
    flipped[secrets.randbelow(64)] ^= 1 << secrets.randbelow(8)
    moved = vendor.sign(vendor.manifest(last + 2, recall.digest))
    false("signature-other", content=recall.path, seed=secrets.token_bytes(32))
    for what, signature in (("none", bytes(64)), ("flipped", bytes(flipped)), ("moved", moved)):
        false(f"signature-{what}", signature=signature)

    other = secrets.token_hex(32)
    board = f"varde-{secrets.choice('12456789')}"
    false("board", vendor.manifest(last + 1, recall.digest, board=board))
    false("board-longer", vendor.manifest(last + 1, recall.digest, board="varde-33"))
    false("board-low", vendor.manifest(1 + secrets.randbelow(RECALL), other, board=board))
    false("floor", vendor.manifest(RECALL, recall.digest))
    false("floor-other", vendor.manifest(1 + secrets.randbelow(RECALL), other))
    false("content")
    # Right but for one bit, which may lie anywhere.
    false("content-flipped", content=recall.path)
    with media.file("content-flipped").open("r+b") as stream:
        place = HEAD + secrets.randbelow(vendor.slot)
        stream.seek(place)
        byte = stream.read(1)[0] ^ 1 << secrets.randbelow(8)
        stream.seek(place)
        stream.write(bytes([byte]))


#: What the new key signs, or nobody's, and no unit may take, and with which status after the
#: recall: the first reason counts.
REFUSED = {
    **dict.fromkeys(("short", "head", "long", "form-upper", "form-tail"), 10),
    **{f"form-{what}": 10 for what in FORMS},
    **{f"signature-{what}": 11 for what in ("other", "none", "flipped", "moved")},
    **dict.fromkeys(("board", "board-longer", "board-low"), 12),
    **dict.fromkeys(("floor", "floor-other"), 13),
    **dict.fromkeys(("content", "content-flipped"), 14),
}

"""The second disk: the bundles of this run, of both keys, under names drawn for it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from bundle import RECALL, FieldVendor, NextVendor, Release

from benchflow.bench.media_disks import our_tool

#: Fails once, and says its word before that; healthy from then on.
SLOW = """#!/bin/sh
[ -e {folder}/slow ] && exit 0
echo {word}
sleep 8
touch {folder}/slow; sync
exit 1
"""
SICK = """#!/bin/sh
n=$(($(cat {folder}/tries 2>/dev/null) + 1)); echo $n >{folder}/tries; sync
exit 1
"""
TELLS = """#!/bin/sh
echo {word}
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
HANGS = """#!/bin/sh
echo {word} | tr -d _ | sed 's/^v/w/'
while :; do sleep 1000; done
"""


@dataclass
class Media:
    """`releases` by what they are for, `names` of the files, `words` that versions say."""

    folder: Path
    word: str
    place: str = field(default_factory=lambda: f"/data/bench-{secrets.token_hex(4)}")
    releases: dict[str, Release] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def file(self, what: str) -> Path:
        self.names.setdefault(what, f"{secrets.token_hex(5)}.bundle")
        return self.folder / self.names[what]

    def path(self, what: str) -> str:
        """Where the unit finds a bundle."""
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
    newer = RECALL + 5000 + secrets.randbelow(90000)
    old.version(media.file("thief-old"), newer, {})
    text = old.manifest(newer + 1, recall.digest)
    old.false(media.file("thief-new"), text, content=recall.path)
    old.false(media.file("thief-board"), old.manifest(newer + 2, recall.digest, board="varde-4"))
    old.false(media.file("thief-other"), old.manifest(999999999, secrets.token_hex(32)))
    old.false(media.file("thief-low"), old.manifest(3, recall.digest), content=recall.path)


THEFTS = ("thief-old", "thief-new", "thief-board", "thief-other", "thief-low")


def of_the_next_key(media: Media, vendor: NextVendor) -> None:
    """Versions after the recall, in the order in which they are installed."""
    media.releases["recall"] = vendor.release1
    number = RECALL
    for what, script in (("next", TELLS), ("sick", SICK), ("hangs", ""), ("cuts", TELLS)):
        number += 1 + secrets.randbelow(400)
        health = {"70-bench": media.text(what, script)} if script else {}
        init = media.text(what, HANGS) if what == "hangs" else b""
        media.releases[what] = vendor.version(media.file(what), number, health, init)
    recall, other = vendor.release1, media.releases["next"].path
    newer = vendor.manifest(number + 1, recall.digest)
    vendor.false(media.file("content"), newer, content=other)
    vendor.false(media.file("short"), newer, content=recall.path, size=vendor.whole - 512)
    board = vendor.manifest(number + 1, recall.digest, board="varde-4")
    vendor.false(media.file("board"), board, content=recall.path)
    vendor.false(media.file("floor"), vendor.manifest(RECALL, recall.digest), content=recall.path)


#: What the new key signs and no unit may take, and with which status after the recall.
REFUSED = {"short": 10, "board": 12, "floor": 13, "content": 14}

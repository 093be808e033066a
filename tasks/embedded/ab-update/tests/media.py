"""The second disk: every bundle of this run, good and false, under names drawn for it."""

from __future__ import annotations

import secrets
from pathlib import Path

from bundle import HEAD, MANIFEST, SLOT, WHOLE, Release, Vendor, manifest

from benchflow.boot import Disk
from benchflow.boot.inspect.bounded_run import run_tool

COUNT = "n=$(($(cat {file} 2>/dev/null) + 1)); echo $n >{file}; sync"
OBSERVE = """#!/bin/sh
echo run >>{folder}/runs
update status >{folder}/status 2>&1
sync
"""
# Scripts of their own: a script has ten seconds, which a slow host does not stretch.
OBSERVE_INSTALL = """#!/bin/sh
update install {bundle} >/dev/null 2>&1; echo $? >{folder}/install
sync
"""
OBSERVE_ROLLBACK = """#!/bin/sh
update rollback >/dev/null 2>&1; echo $? >{folder}/rollback
head -n 1 /media/word >{folder}/media
sync
"""
FIRST = """#!/bin/sh
echo first >>{folder}/order
"""
SECOND = """#!/bin/sh
echo second >>{folder}/order
[ "$(tail -n 2 {folder}/order | tr '\\n' ' ')" = "first second " ]
"""
UNHEALTHY = """#!/bin/sh
n=$(($(cat {folder}/tries 2>/dev/null) + 1)); echo $n >{folder}/tries
update status >{folder}/status.$n
sync
exit 1
"""
FLAKY = """#!/bin/sh
n=$(($(cat {folder}/flaky 2>/dev/null) + 1)); echo $n >{folder}/flaky
sync
case $n in
1) while :; do sleep 1000; done ;;
2) exit 3 ;;
esac
"""
ENDS = """#!/bin/sh
echo {word}
exit 1
"""
HANGS = """#!/bin/sh
echo {word}
while :; do sleep 1000; done
"""
TELLS = """#!/bin/sh
echo {word}
"""


def draw_versions() -> dict[str, int]:
    """Rising numbers for the releases in the order in which they are installed.

    The first two are such that their order as text is the other one.
    """
    second = 5 + secrets.randbelow(5)
    third = 10 + secrets.randbelow(30)
    versions = {"second": second, "third": third}
    last = 100 + secrets.randbelow(800)
    for name in ("unhealthy", "flaky", "ends", "garbage", "torn", "hangs", "next", "cuts", "last"):
        last += 2 + secrets.randbelow(900)
        versions[name] = last
    return versions


class Media:
    """`releases` by what they are for, `names` of files by what is in them."""

    def __init__(self, vendor: Vendor, folder: Path) -> None:
        self.folder = folder
        self.files = folder / "media"
        self.files.mkdir()
        self.names: dict[str, str] = {}
        self.word = secrets.token_hex(8)
        self.words = {name: f"w{secrets.token_hex(8)}" for name in ("ends", "hangs", "cuts")}
        self.place = f"/data/bench-{secrets.token_hex(4)}"
        self._vendor = vendor
        versions = draw_versions()
        self.releases: dict[str, Release] = {"first": vendor.release1}
        for name, version in versions.items():
            build = secrets.token_hex(8)
            changes = self._changes(name)
            path = self.files / self._named(name)
            self.releases[name] = vendor.release(path, version, build, **changes)
        self._false()
        (self.files / "word").write_text(f"{self.word}\n")

    def _named(self, what: str) -> str:
        return self.names.setdefault(what, f"{secrets.token_hex(5)}.bundle")

    def path(self, what: str) -> str:
        """Where the unit finds a bundle."""
        return f"/media/{self.names[what]}"

    def _script(self, text: str, **words: str) -> bytes:
        return text.format(folder=self.place, **words).encode()

    def _changes(self, name: str) -> dict[str, bytes]:
        if name == "second":
            self._named("third")
            return {
                "health_80-bench": self._script(OBSERVE),
                "health_81-bench": self._script(OBSERVE_INSTALL, bundle=self.path("third")),
                "health_82-bench": self._script(OBSERVE_ROLLBACK),
            }
        if name == "third":
            return {
                "health_70-bench": self._script(FIRST),
                "health_71-bench": self._script(SECOND),
            }
        if name == "unhealthy":
            return {"health_90-bench": self._script(UNHEALTHY)}
        if name == "flaky":
            return {"health_90-bench": self._script(FLAKY)}
        if name == "ends":
            return {"init": self._script(ENDS, word=self.words[name])}
        if name == "hangs":
            return {"init": self._script(HANGS, word=self.words[name])}
        if name == "cuts":
            return {"health_90-bench": self._script(TELLS, word=self.words[name])}
        if name == "garbage":
            return {"kernel": secrets.token_bytes(1 << 20)}
        if name in ("torn", "last"):
            # The head of a kernel, so that loaders take it, and then instructions that no processor
            # knows. (Merely cut off, its rest may still lie in memory from the start before, and it
            # runs; noise there may also stand still for ever.)
            kernel = self._vendor.kernel()
            head = ((kernel[0x1F1] or 4) + 1) * 512
            return {"kernel": kernel[:head] + b"\x0f\x0b" * (1 << 19)}
        return {}

    def _false(self) -> None:
        """Every bundle that has to be refused; where the content is never read it is zeros."""
        vendor, second, third = self._vendor, self.releases["second"], self.releases["third"]
        text = manifest(second.version, second.digest)
        head = text.rstrip(b"\0")

        def false(what: str, text: bytes = text, **changes) -> None:
            vendor.false(self.files / self._named(what), text, **changes)

        def form(what: str, text: bytes) -> None:
            false(f"form-{what}", text.ljust(MANIFEST, b"\0"))

        false("short-head", size=secrets.randbelow(MANIFEST))
        false("short-body", content=second.path, size=HEAD + secrets.randbelow(SLOT - 1) + 1)
        false("short-end", size=WHOLE - 1)
        false("long", size=WHOLE + 1)
        (self.files / self._named("empty")).write_bytes(b"")
        form("magic", head.replace(b"BUNDLE-1", b"BUNDLE-2"))
        form("more", head + b"note=hello\n")
        form("twice", head.replace(b"board=", b"board=varde-3\nboard="))
        form("order", b"\n".join(sorted(head.splitlines())) + b"\n")
        form("tail", head.ljust(MANIFEST - 1, b"\0") + b"!")
        form("crlf", head.replace(b"\n", b"\r\n"))
        form("upper", head.replace(second.digest.encode(), second.digest.upper().encode()))
        form("size", manifest(second.version, second.digest, size=SLOT - 1))
        for number in ("0", f"0{second.version}", "1000000000", "-5", "7.5", ""):
            form(f"version-{number}", manifest(number, second.digest))

        other = secrets.token_bytes(32)
        flipped = bytearray(vendor.sign(text))
        flipped[secrets.randbelow(64)] ^= 1 << secrets.randbelow(8)
        moved = manifest(second.version + 1, second.digest)
        false("signature-none", signature=bytes(64))
        false("signature-other", seed=other)
        false("signature-flipped", signature=bytes(flipped))
        false("signature-moved", moved, signature=vendor.sign(text))
        false("signature-short-text", signature=vendor.sign(head))

        false("board", manifest(second.version, second.digest, board="varde-4"))
        false("board-longer", manifest(second.version, second.digest, board="varde-33"))
        vendor.false(
            self.files / self._named("first"),
            manifest(1, vendor.release1.digest),
            content=vendor.release1.path,
        )
        between = 2 + secrets.randbelow(second.version - 2)
        false("between", manifest(between, second.digest))

        false("content-other", content=third.path)
        false("content-flipped", content=second.path)
        with (self.files / self._named("content-flipped")).open("r+b") as stream:
            place = HEAD + secrets.randbelow(SLOT)
            stream.seek(place)
            byte = stream.read(1)[0] ^ 1 << secrets.randbelow(8)
            stream.seek(place)
            stream.write(bytes([byte]))

        false("order-signature", manifest(1, third.digest, board="varde-4"), seed=other)
        false("order-board", manifest(1, third.digest, board="varde-4"))
        false("order-floor", manifest(1, third.digest))

    def disk(self) -> Disk:
        """An ext2 disk of all that, read-only for the unit."""
        path = self.folder / "media.img"
        size = sum(file.stat().st_size for file in self.files.iterdir()) + (16 << 20)
        done = run_tool(
            ["mke2fs", "-q", "-t", "ext2", "-E", "root_owner=0:0", "-d", str(self.files),
             str(path), f"{size >> 10}k"],
        )  # fmt: skip
        assert done.status == 0, done.complaint
        return Disk(path, read_only=True)

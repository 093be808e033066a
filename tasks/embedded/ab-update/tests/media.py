"""The second disk: every bundle of this run, good and false, under names drawn for it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from bundle import HEAD, MANIFEST, SLOT, WHOLE, Release, Vendor, manifest

from benchflow.boot import Disk, GuestError
from benchflow.boot.inspect.bounded_run import run_tool

COUNT = "n=$(($(cat {file} 2>/dev/null) + 1)); echo $n >{file}; sync"
OBSERVE = """#!/bin/sh
echo run >>{folder}/runs
id -u >{folder}/user
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
#: Within its ten seconds, and long enough that less patience shows.
FIRST = """#!/bin/sh
sleep 7
echo first >>{folder}/order
"""
SECOND = """#!/bin/sh
echo second >>{folder}/order
[ "$(tail -n 2 {folder}/order | tr '\\n' ' ')" = "first second " ]
"""
#: Counts on a /data that was made while it waited.
SICK = """#!/bin/sh
mkdir -p {folder}
n=$(($(cat {folder}/sick 2>/dev/null) + 1)); echo $n >{folder}/sick
sync
exit 1
"""
#: Each in its time, and all together not in theirs. [R18]
DAWDLES, DAWDLING = "#!/bin/sh\n{tells}sleep 8\n", 9
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
1)
	trap '' HUP INT TERM
	echo {word}
	while :; do sleep 1; done
	;;
2)
	echo {word}
	exit 3
	;;
esac
"""
ENDS = """#!/bin/sh
echo {word}
exit 1
"""
#: Its word is there only where the slot has its shell and small tools for itself.
HANGS = """#!/bin/sh
echo {word} | tr -d _ | sed 's/^v/w/'
while :; do sleep 1000; done
"""
TELLS = """#!/bin/sh
echo {word} >&2
"""


#: What stands in the name of a script behind its number: some readers of such folders pass over a
#: dot. [R20]
ENDINGS = (".sh", "-bench", "_Lamp", ".v2", "")
#: The order of Ed25519's group: a signature's second half is below it.
GROUP = 2**252 + 27742317777372353535851937790883648493
#: [R8] The room for what is added: 16 files, and with the blocks' ends no more than 1 MiB.
MORE_FILES, MORE_BYTES = 16, 960 << 10
NOTHING = b"#!/bin/sh\nexit 0\n"


def scripts(first: int, count: int = 1) -> list[str]:
    """Names of scripts for `Vendor.version`, in their order; of several one has a dot."""
    draw = secrets.SystemRandom()
    endings = [".sh", *draw.choices(ENDINGS, k=count - 1)] if count > 1 else [draw.choice(ENDINGS)]
    draw.shuffle(endings)
    return [f"health_{first + number}{ending}" for number, ending in enumerate(endings)]


def more_files() -> dict[str, bytes]:
    names = scripts(60, MORE_FILES)
    files = dict.fromkeys(names, NOTHING)
    size = MORE_BYTES - len(NOTHING) * MORE_FILES - 1
    return {**files, names[-1]: NOTHING + b"#" + secrets.token_hex(size // 2 + 1)[:size].encode()}


class Releases(dict[str, Release]):
    """By what they are for; `faults` says why one could not be made."""

    def __init__(self, *first: tuple[str, Release]) -> None:
        super().__init__(first)
        self.faults: dict[str, str] = {}

    def __missing__(self, name: str) -> Release:
        raise AssertionError(
            f"version {name!r} cannot be made from the slot image of first.bundle [R8]:"
            f" {self.faults.get(name, 'nobody knows it')}"
        )


def draw_versions() -> dict[str, int]:
    """Numbers for the releases. The first two are such that their order as text is the other one.

    Where none is confirmed in between, what one milestone installs later has the lower number: the
    floor is what was confirmed, not what was installed, or tried in vain. [R14]
    """
    second = 5 + secrets.randbelow(5)
    third = 10 + secrets.randbelow(30)
    versions = {"second": second, "third": third}
    last = 100 + secrets.randbelow(800)
    for name in ("flaky", "unhealthy", "torn", "garbage", "missing", "ends", "dawdles", "hangs",
                 "next", "sick", "cuts", "last"):  # fmt: skip
        last += 2 + secrets.randbelow(900)
        versions[name] = last
    return versions


class Media:
    """`releases` by what they are for, `names` of files by what is in them."""

    def __init__(self, vendor: Vendor, folder: Path, word: str) -> None:
        self.folder = folder
        self.files = folder / "media"
        self.files.mkdir()
        self.names: dict[str, str] = {}
        self.word = word
        names = ("ends", "hangs", "cuts", "flaky", "dawdles")
        self.words = {name: f"w{secrets.token_hex(8)}" for name in names}
        self.place = f"/data/bench-{secrets.token_hex(4)}"
        self._vendor = vendor
        versions = draw_versions()
        self.releases = Releases(("first", vendor.release1))
        for name, version in versions.items():
            path = self.files / self._named(name)
            try:
                build = secrets.token_hex(8)
                if name == "missing":
                    self.releases[name] = vendor.without_init(path, version, build)
                    continue
                self.releases[name] = vendor.version(path, version, build, **self._changes(name))
            except (AssertionError, GuestError) as error:
                self.releases.faults[name] = str(error)
                path.unlink(missing_ok=True)
        self._false()
        (self.files / "word").write_text(f"{self.word}\n")

    def _named(self, what: str) -> str:
        return self.names.setdefault(what, f"{secrets.token_hex(5)}.bundle")

    def path(self, what: str) -> str:
        """Where the unit finds a bundle."""
        if what in self.releases.faults:
            return f"/media/{self.releases[what].version}"
        return f"/media/{self.names[what]}"

    def _script(self, text: str, **words: str) -> bytes:
        return text.format(folder=self.place, **words).encode()

    def _changes(self, name: str) -> dict[str, bytes]:
        if name == "second":
            self._named("third")
            texts = (
                self._script(OBSERVE),
                self._script(OBSERVE_INSTALL, bundle=self.path("third")),
                self._script(OBSERVE_ROLLBACK),
            )
            return dict(zip(scripts(80, 3), texts, strict=True))
        if name == "third":
            texts = (self._script(FIRST), self._script(SECOND))
            return dict(zip(scripts(70, 2), texts, strict=True))
        if name == "dawdles":
            first, *more = scripts(50, DAWDLING)
            tells = self._script(DAWDLES, tells=f"echo {self.words[name]}\n")
            return {first: tells, **dict.fromkeys(more, self._script(DAWDLES, tells=""))}
        if name in ("unhealthy", "sick"):
            text = self._script(UNHEALTHY if name == "unhealthy" else SICK)
            return {scripts(90)[0]: text}
        if name == "flaky":
            return {scripts(90)[0]: self._script(FLAKY, word=self.words[name])}
        if name == "ends":
            return {"init": self._script(ENDS, word=self.words[name])}
        if name == "hangs":
            spread = "_".join(self.words[name].replace("w", "v"))
            return {"init": self._script(HANGS, word=spread)}
        if name == "cuts":
            return {scripts(90)[0]: self._script(TELLS, word=self.words[name])}
        if name == "garbage":
            return {"kernel": secrets.token_bytes(1 << 20)}
        if name in ("torn", "last"):
            # The head of a kernel, so that loaders take it, and then instructions that no processor
            # knows. (Merely cut off, its rest may still lie in memory from the start before, and it
            # runs; noise there may also stand still for ever.)
            kernel = self._vendor.kernel()
            linux = kernel[0x202:0x206] == b"HdrS"
            head = ((kernel[0x1F1] or 4) + 1) * 512 if linux else 4096
            return {"kernel": kernel[:head] + b"\x0f\x0b" * (1 << 19)}
        if name == "next":
            return more_files()
        return {}

    def _false(self) -> None:
        """Every bundle that has to be refused; where the content is never read it is zeros."""
        vendor, releases = self._vendor, self.releases
        second, third = (releases.get(one, releases["first"]) for one in ("second", "third"))
        last = max(release.version for release in releases.values())
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
        self._false_forms(form, head, second.digest)
        for number in ("0", f"0{second.version}", "1000000000", "-5", "7.5", ""):
            form(f"version-{number}", manifest(number, second.digest))

        other = secrets.token_bytes(32)
        moved = manifest(second.version + 1, second.digest)
        for half in (0, 32):
            flipped = bytearray(vendor.sign(text))
            flipped[half + secrets.randbelow(32)] ^= 1 << secrets.randbelow(8)
            false(f"signature-flipped-{half}", signature=bytes(flipped))
        # RFC 8032, 5.1.7: its second half is a number below the group's order.
        good = vendor.sign(text)
        grown = int.from_bytes(good[32:], "little") + GROUP
        false("signature-grown", signature=good[:32] + grown.to_bytes(32, "little"))
        false("signature-none", signature=bytes(64))
        false("signature-other", seed=other)
        false("signature-moved", moved, signature=vendor.sign(text))
        false("signature-short-text", signature=vendor.sign(head))

        for number, board in enumerate(("Varde-3", "varde_3", "varde-3 ", "")):
            form(f"board-{number}", manifest(second.version, second.digest, board=board))
        false("board", manifest(second.version, second.digest, board="varde-4"))
        false("board-longer", manifest(second.version, second.digest, board="varde-33"))
        vendor.false(
            self.files / self._named("first"),
            manifest(1, vendor.release1.digest),
            content=vendor.release1.path,
        )
        between = 2 + secrets.randbelow(max(1, second.version - 2))
        false("between", manifest(between, second.digest))

        false("board-other", manifest(second.version, second.digest, board=secrets.token_hex(4)))

        # Of a version above all floors: a content that is not the one that was promised.
        false("late", manifest(last + 1, second.digest))
        false("content-other", content=third.path)
        self.names["content-blank"] = f"{secrets.token_hex(3)} {secrets.token_hex(3)}.bundle"
        false("content-blank", content=third.path)
        false("content-flipped", content=second.path)
        with (self.files / self._named("content-flipped")).open("r+b") as stream:
            place = HEAD + secrets.randbelow(SLOT)
            stream.seek(place)
            byte = stream.read(1)[0] ^ 1 << secrets.randbelow(8)
            stream.seek(place)
            stream.write(bytes([byte]))

        false("order-form", moved[:-1] + b"!", seed=other)
        false("order-long", seed=other, size=WHOLE + 1 + secrets.randbelow(4096))
        false("order-signature", manifest(1, third.digest, board="varde-4"), seed=other)
        false("order-board", manifest(1, third.digest, board="varde-4"))
        false("order-floor", manifest(1, third.digest))

    @staticmethod
    def _false_forms(form: Callable[[str, bytes], None], head: bytes, digest: str) -> None:
        """Manifests that are nearly one. `head` is the text of a good one."""
        lines = head.splitlines(keepends=True)
        left = lines[:]
        del left[secrets.randbelow(len(left))]
        form("lines", b"".join(left))
        form("newline", head.rstrip(b"\n"))
        number = secrets.randbelow(len(lines))
        for what, sign in (("blank", b" \n"), ("zero", b"\0\n")):
            changed = lines[number].replace(b"\n", sign)
            form(what, b"".join([*lines[:number], changed, *lines[number + 1 :]]))
        place = len(head) + 1 + secrets.randbelow(MANIFEST - len(head) - 2)
        form("fill", head.ljust(place, b"\0") + secrets.choice((b"\n", b" ", b"\xff")))
        for what, other in (("short", ""), ("long", f"{digest[-1]}0"), ("odd", "g")):
            form(f"sha-{what}", head.replace(digest.encode(), f"{digest[:-1]}{other}".encode()))
        form("size-0", head.replace(b"size=", b"size=0"))
        form("key", head.replace(b"board=", b"Board="))

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

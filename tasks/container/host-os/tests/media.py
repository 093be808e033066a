"""The second carrier: bundles, good and bad, and a declaration that differs from the first."""

from __future__ import annotations

import secrets
from pathlib import Path

from bundle import HEAD, MANIFEST, Vendor, manifest
from site_data import Site

#: The first process of a version that cannot start.
ENDS = b"#!/bin/sh\necho {word}\nexit 1\n"
#: A script that leaves its word on the console, and ends as it is told.
SCRIPT = b"#!/bin/sh\necho {word}\n{more}\n"


FAILS = "exit 1"
ENDLESS = "trap '' HUP INT TERM\nwhile :; do sleep 1; done"
NOTHING = b"#!/bin/sh\nexit 0\n"
#: [R3] The room for what is added: 16 files in all, and with the blocks' ends no more than 1 MiB.
MORE_FILES, MORE_BYTES = 15, 960 << 10


def more_files() -> dict[str, bytes]:
    names = [f"/etc/health.d/{number}-more" for number in range(60, 60 + MORE_FILES)]
    size = MORE_BYTES - len(NOTHING) * MORE_FILES - 1
    last = NOTHING + b"#" + secrets.token_hex(size // 2 + 1)[:size].encode()
    return {**dict.fromkeys(names, NOTHING), names[-1]: last}


class Media:
    def __init__(self, vendor: Vendor, site: Site, work: Path) -> None:
        self._vendor, self._site = vendor, site
        self.place = secrets.token_hex(8)
        self.folder = site.folder / self.place
        self.folder.mkdir()
        self.words = {name: secrets.token_hex(12) for name in ("good", "dead", "ill")}
        self.releases = {}
        numbers = sorted(secrets.SystemRandom().sample(range(100, 900_000), 3))
        changes = {
            "good": {**more_files(), "/etc/health.d/90-bench": self._script("good", "exit 0")},
            "dead": {"/sbin/init": ENDS.replace(b"{word}", self.words["dead"].encode())},
            "ill": {
                "/etc/health.d/90-bench": self._script("ill", secrets.choice((FAILS, ENDLESS)))
            },
        }
        for number, (name, files) in zip(numbers, changes.items(), strict=True):
            build = secrets.token_hex(8)
            self.releases[name] = vendor.version(self.folder / name, number, build, files)
        self._false()

    def _script(self, name: str, more: str) -> bytes:
        return SCRIPT.replace(b"{word}", self.words[name].encode()).replace(
            b"{more}", more.encode()
        )

    def path(self, name: str) -> str:
        return f"/carrier/{self.place}/{name}"

    def _false(self) -> None:
        """Bundles that have to be refused: name -> status."""
        vendor, good = self._vendor, self.releases["good"]
        text = manifest(good.version, good.digest, vendor.slot)
        head = text.rstrip(b"\0")
        other = secrets.token_bytes(32)
        self.statuses: dict[str, int] = {}

        def false(name: str, status: int, text: bytes = text, **changes) -> None:
            vendor.false(self.folder / name, text.ljust(MANIFEST, b"\0"), **changes)
            self.statuses[name] = status

        false("short", 1, size=HEAD + vendor.slot - 1)
        false("long", 1, size=HEAD + vendor.slot + 1)
        false("head-only", 1, size=100)
        false("magic", 1, head.replace(b"BUNDLE-1", b"BUNDLE-2"))
        false("more", 1, head + b"note=hello\n")
        false("tail", 1, head.ljust(MANIFEST - 1, b"\0") + b"!")
        false("crlf", 1, head.replace(b"\n", b"\r\n"))
        false("upper", 1, head.replace(good.digest.encode(), good.digest.upper().encode() + b"A"))
        false("size", 1, manifest(good.version, good.digest, vendor.slot - 1))
        false("zero", 1, manifest(f"0{good.version}", good.digest, vendor.slot))
        false("stranger", 2, seed=other)
        false("unsigned", 2, signature=bytes(64))
        false("moved", 2, manifest(good.version + 1, good.digest, vendor.slot),
              signature=vendor.sign(text))  # fmt: skip
        false("same", 3, manifest(1, vendor.release1.digest, vendor.slot))
        false("content", 4)

    def site(self) -> dict[str, object]:
        """web as it was, eater written wrongly, the others gone."""
        return self._site.some("web", eater=self._site.changed("eater", colour="red"))

    def carrier(self, path: Path) -> Path:
        mended = self._site.some("web", "eater", "ledger")
        return self._site.carrier(path, self.site(), mended=mended)

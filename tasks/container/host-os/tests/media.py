"""The second carrier: bundles, good and bad, and a declaration that differs from the first."""

from __future__ import annotations

import secrets
from pathlib import Path

from bundle import HEAD, MANIFEST, Vendor, manifest
from site_data import Site

#: The first process of a version that cannot start.
ENDS = b"#!/bin/sh\necho {word}\nexit 1\n"
#: A script that leaves its word on the first serial port, for its own output may go elsewhere, and
#: ends as it is told. In a process of its own, which gets no terminal by that.
SCRIPT = b"#!/bin/sh\n(echo {word} >/dev/ttyS0) || echo {word}\n{more}\n"


#: Versions that do not come up.
ILL = ("dead", "fails", "endless")
FAILS = "exit 1"
ENDLESS = "trap '' HUP INT TERM\nwhile :; do sleep 1; done"
#: What the scripts of a good version leave behind, for whoever logs in: who runs them, in which
#: order, and what the host says meanwhile. Each may take 10 seconds, however many there are.
TRACES, SLOW, SLOW_SECONDS = "/run/bench-trial", 13, 7
TELLS = b"""#!/bin/sh
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
echo ${0##*/} >>TRACES
DO
exit 0
""".replace(b"TRACES", TRACES.encode())
ASKS = (
    b"grep Uid: /proc/self/status >TRACES-user\nhostctl status >TRACES-status"
).replace(b"TRACES", TRACES.encode())  # fmt: skip
#: [R3] The room for what is added: 16 files in all, and with the blocks' ends no more than 1 MiB.
MORE_FILES, MORE_BYTES = 15, 960 << 10


def more_files() -> dict[str, bytes]:
    numbers = secrets.SystemRandom().sample(range(10, 90), MORE_FILES)
    does = [ASKS, *[b"sleep %d" % SLOW_SECONDS] * SLOW, b":"]
    files = {
        f"/etc/health.d/{number}-more": TELLS.replace(b"DO", do)
        for number, do in zip(numbers, does, strict=True)
    }
    size = MORE_BYTES - sum(map(len, files.values())) - 1
    name = f"/etc/health.d/{numbers[-1]}-more"
    files[name] += b"#" + secrets.token_hex(size // 2 + 1)[:size].encode()
    return files


class Media:
    def __init__(self, vendor: Vendor, site: Site, work: Path) -> None:
        self._vendor, self._site = vendor, site
        self.place = secrets.token_hex(8)
        self.folder = site.folder / self.place
        self.folder.mkdir()
        self.words = {name: secrets.token_hex(12) for name in ("good", *ILL)}
        self.releases = {}
        numbers = sorted(secrets.SystemRandom().sample(range(100, 900_000), 4))
        self.more = more_files()
        changes = {
            "good": {**self.more, "/etc/health.d/90-bench": self._script("good", "exit 0")},
            "dead": {"/sbin/init": ENDS.replace(b"{word}", self.words["dead"].encode())},
            "fails": {"/etc/health.d/90-bench": self._script("fails", FAILS)},
            "endless": {"/etc/health.d/90-bench": self._script("endless", ENDLESS)},
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
        false("upper", 1, head.replace(good.digest.encode(), good.digest.upper().encode()))
        false("digits", 1, head.replace(good.digest.encode(), good.digest.encode() + b"a"))
        false("order", 1, b"".join(head.splitlines(True)[line] for line in (0, 2, 1, 3)))
        false("size", 1, manifest(good.version, good.digest, vendor.slot - 1))
        false("zero", 1, manifest(f"0{good.version}", good.digest, vendor.slot))
        false("stranger", 2, seed=other)
        false("unsigned", 2, signature=bytes(64))
        false("moved", 2, manifest(good.version + 1, good.digest, vendor.slot),
              signature=vendor.sign(text))  # fmt: skip
        false("same", 3, manifest(1, vendor.release1.digest, vendor.slot))
        false("content", 4)
        # One bit of the content, wherever it is.
        false("bit", 4, content=good.path)
        with (self.folder / "bit").open("r+b") as stream:
            place = HEAD + secrets.randbelow(vendor.slot)
            stream.seek(place)
            (byte,) = stream.read(1)
            stream.seek(place)
            stream.write(bytes([byte ^ 1 << secrets.randbelow(8)]))
        # For later, when the good one runs: it again, and one that is above it as a text alone.
        known = set(self.statuses)
        false("again", 3)
        false("lower", 3, manifest(99, good.digest, vendor.slot))
        self.stale = {name: self.statuses.pop(name) for name in set(self.statuses) - known}

    def site(self) -> dict[str, object]:
        """web as it was, eater written wrongly, the others gone."""
        return self._site.some("web", eater=self._site.changed("eater", colour="red"))

    def carrier(self, path: Path) -> Path:
        mended = self._site.some("web", "eater", "ledger")
        return self._site.carrier(path, self.site(), mended=mended)

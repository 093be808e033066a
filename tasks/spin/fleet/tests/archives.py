"""The archives of this run: delivered packages and the bench's, signed again, or by a thief.

`Archives` is what somebody publishes; a `Line` is how one station gets at it, under an address of
its own, and what lies at its other end can be exchanged.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from benchflow.bench.apt_archive import Suite, clearsigned, release_text
from benchflow.bench.deb_package import Deb, stanza
from benchflow.bench.http_files import HttpFiles
from benchflow.boot.inspect.openpgp import Key

SUITES = {"alke": "holm", "bris": "holm", "dorg": "holm", "bookworm": "base"}
SIGNERS = {"alke": ("alke",), "bris": ("bris", "dorg"), "dorg": ("dorg",), "bookworm": ("base",)}
#: How they were signed before.
SIGNERS_THEN = {"alke": ("alke",), "bris": ("bris",), "bookworm": ("base",)}
INDEX = "main/binary-amd64/Packages"
# The stations' clocks are ahead of ours, so that what is published now is later than what was
# delivered a moment ago, and does not lie in their future.
AHEAD = (20 + secrets.randbelow(330)) * 86400
_ORIGIN = {"holm": "Holm", "base": "Debian"}
_VERSION = {"alke": "1.0", "bris": "2.0", "dorg": "3.0", "bookworm": "12"}
# What apt compares with what an archive said before stays what it was.
_AS_DELIVERED = ("Label", "NotAutomatic", "ButAutomaticUpgrades")

Files = dict[str, bytes]


class Clock:
    """Moments of Releases: each is later than all before."""

    def __init__(self) -> None:
        self._at = time.time() + 86400

    def next(self) -> float:
        self._at += 600
        return self._at


class Archives:
    """`suites` as they were delivered, with `own` packages of the bench's."""

    def __init__(
        self,
        suites: Mapping[str, Suite],
        keys: Mapping[str, Key],
        signers: Mapping[str, tuple[str, ...]],
        clock: Clock,
    ) -> None:
        self.suites, self.keys, self.signers, self.clock = suites, keys, signers, clock
        self.own: dict[str, dict[str, Deb]] = {name: {} for name in suites}

    def offer(self, suite: str, *debs: Deb) -> None:
        """Packages of ours, or another version of them."""
        for deb in debs:
            self.own[suite][deb.name] = deb

    def place(self, suite: str, name: str) -> str:
        """Where a package of that name is among a suite's files."""
        if name in self.own[suite]:
            return f"{SUITES[suite]}/pool/bench/{suite}/{self.own[suite][name].file_name}"
        return f"{SUITES[suite]}/{self.suites[suite].packages[name].path}"

    def suite(self, name: str, *more: Deb, keys: tuple[str, ...] = ()) -> Files:
        """A suite's files, signed as it should be or by `keys`, with `more` packages."""
        below, files, paragraphs = SUITES[name], {}, []
        own = {**self.own[name], **{deb.name: deb for deb in more}}
        for package in self.suites[name].packages.values():
            if package.name not in own:
                files[f"{below}/{package.path}"] = package.data
                paragraphs.append(_at(package.paragraph, package.path))
        for deb in own.values():
            data, place = deb.pack(), f"pool/bench/{name}/{deb.file_name}"
            files[f"{below}/{place}"] = data
            paragraphs.append(stanza(deb.control, place, data))
        index = "\n".join(paragraphs).encode()
        said = {"Origin": _ORIGIN[below], "Suite": name, "Codename": name,
                "Version": _VERSION[name]}  # fmt: skip
        delivered = self.suites[name].release
        said |= {n: delivered[n.lower()] for n in _AS_DELIVERED if delivered.get(n.lower())}
        said |= {"Architectures": "amd64", "Components": "main"}
        text = release_text(said, {INDEX: index}, self.clock.next())
        signers = [self.keys[key] for key in keys or self.signers[name]]
        files[f"{below}/dists/{name}/InRelease"] = clearsigned(text, *signers)
        files[f"{below}/dists/{name}/{INDEX}"] = index
        return files

    def all(self) -> Files:
        """Every suite as it should be."""
        return {path: data for name in self.suites for path, data in self.suite(name).items()}


def _at(paragraph: str, path: str) -> str:
    lines = [
        f"Filename: {path}" if line.lower().startswith("filename:") else line
        for line in paragraph.strip("\n").split("\n")
    ]
    return "\n".join(lines) + "\n"


class Line(HttpFiles):
    """A station's way to the archives."""

    def address(self, archive: str) -> str:
        return f"{self.url}/{archive}"

    def serve(self, files: Files, *without: str) -> None:
        """Serve these files, but for those whose path begins with one of `without`."""
        self.files = {
            self.place(path): data
            for path, data in files.items()
            if not any(path.startswith(one) for one in without)
        }

    def change(self, files: Files) -> None:
        """Serve these in place of, or beside, what is served."""
        self.files = {**self.files, **{self.place(path): data for path, data in files.items()}}

    def hold_debs_from(self, number: int) -> list[str]:
        """Answer nobody who asks for a package, from the `number`th on; what was asked for."""
        seen: list[str] = []

        def held(path: str) -> bool:
            if not path.endswith(".deb"):
                return False
            if path not in seen and len(seen) < 1000:
                seen.append(path)
            return path not in seen[: number - 1]

        self.held = held
        return seen

"""An archive of this run: delivered packages and the bench's, signed anew, or badly on purpose.

Served on the host's loopback, where a station finds it as 10.0.2.2.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from email.utils import formatdate

from debs import Deb, stanza
from delivered import INDEX, KEY_OF, SUITES, Suite

from benchflow.bench.http_files import HttpFiles
from benchflow.boot.inspect.openpgp import Key

# The stations' clock is ahead of ours, by up to a year, so that what is published now can be later
# than what was delivered a moment ago, and never lies in their future.
AHEAD = (20 + secrets.randbelow(330)) * 86400
# What apt compares with what an archive said before, or weighs it by, stays what it was.
_AS_DELIVERED = ("Label", "NotAutomatic", "ButAutomaticUpgrades")
_ORIGIN = {"holm": "Holm", "base": "Debian"}
_VERSION = {"alke": "1.0", "bris": "2.0", "bookworm": "12"}


class Publisher(HttpFiles):
    """`keys` and `suites` by name."""

    def __init__(self, keys: dict[str, Key], suites: dict[str, Suite]) -> None:
        super().__init__()
        self.keys = keys
        self.suites = suites
        self.own: dict[str, dict[str, Deb]] = {name: {} for name in SUITES}
        self._clock = time.time() + 86400

    def copy(self) -> Publisher:
        """Another one, at a port of its own, that offers and serves what this one does now."""
        made = Publisher(self.keys, self.suites)
        made.folder, made._clock = self.folder, self._clock
        made.files = dict(self.files)
        made.own = {suite: dict(debs) for suite, debs in self.own.items()}
        return made

    def archive(self, name: str) -> str:
        """Where one of the two archives is, as a guest names it."""
        return f"{self.url}/{name}"

    def path(self, suite: str, name: str = "") -> str:
        return self.place(f"{SUITES[suite]}/{name}")

    def deliver(self, suite: str, files: dict[str, bytes]) -> None:
        """Serve files of the delivered archive as they are."""
        self.files.update((self.path(suite, name), data) for name, data in files.items())

    def offer(self, suite: str, *debs: Deb) -> None:
        """Add packages of ours, or another version of them; `publish` makes it known."""
        for deb in debs:
            self.own[suite][deb.name] = deb

    def index(self, suite: str) -> str:
        """The index of what is offered; the packages are put into place."""
        paragraphs = []
        for package in self.suites[suite].packages.values():
            if package.name not in self.own[suite]:
                self.files[self.path(suite, package.path)] = package.data
                where = re.sub(r"(?im)^(Filename: *)\./", r"\1", package.paragraph)
                paragraphs.append(where.strip("\n") + "\n")
        for deb in self.own[suite].values():
            data, place = deb.pack(), f"pool/bench/{deb.file_name}"
            self.files[self.path(suite, place)] = data
            paragraphs.append(stanza(deb.control, place, data))
        return "\n".join(paragraphs)

    def release(self, suite: str, index: str, *, valid_for: float | None = None,
                date: float | None = None, **changed: str) -> str:  # fmt: skip
        """A Release for `index`, later than each one before unless `date` says otherwise."""
        self._clock += 600
        when = self._clock if date is None else date
        said = {"Origin": _ORIGIN[SUITES[suite]],
                "Suite": suite, "Codename": suite, "Version": _VERSION[suite],
                "Date": formatdate(when, usegmt=True)}  # fmt: skip
        delivered = self.suites[suite].release
        said |= {n: delivered[n.lower()] for n in _AS_DELIVERED if delivered.get(n.lower())}
        if valid_for is not None:
            said["Valid-Until"] = formatdate(when + valid_for, usegmt=True)
        said.update(changed)
        said |= {"Architectures": "amd64", "Components": "main"}
        data = index.encode()
        digest = f"SHA256:\n {hashlib.sha256(data).hexdigest()} {len(data)} {INDEX}\n"
        return "".join(f"{name}: {value}\n" for name, value in said.items()) + digest

    def publish(self, suite: str, *, key: Key | None = None, text: str = "", **how) -> str:
        """Sign and serve what is offered, by the suite's key or another; returns the Release."""
        index = self.index(suite)
        text = text or self.release(suite, index, **how)
        self.serve(suite, f"dists/{suite}/{INDEX}", index.encode())
        self.serve(
            suite, f"dists/{suite}/InRelease", (key or self.keys[KEY_OF[suite]]).clearsigned(text)
        )
        for name in ("Release", "Release.gpg"):
            self.files.pop(self.path(suite, f"dists/{suite}/{name}"), None)
        return text

    def publish_all(self, *suites: str) -> None:
        for suite in suites:
            self.publish(suite)

    def served(self, *suites: str) -> dict[str, bytes]:
        """What is served now of these suites' Releases and indexes."""
        names = [(s, f"dists/{s}/{name}") for s in suites for name in ("InRelease", INDEX)]
        return {self.path(*name): self.files[self.path(*name)] for name in names}

    def serve(self, suite: str, name: str, data: bytes) -> None:
        self.files[self.path(suite, name)] = data

    def take_away(self, suite: str) -> None:
        """The suite is not to be had any more, until it is published again."""
        for path in [p for p in self.files if p.startswith(self.path(suite, f"dists/{suite}/"))]:
            del self.files[path]

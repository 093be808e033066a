"""Archives that are not what they should be, and a station that has to stay what it is."""

from __future__ import annotations

import secrets

from debs import Deb
from delivered import INDEX
from releases import ALKE, BRIS

#: What is done to both archives of a 1.0, one update after the other.
ROUNDS = (
    {"alke": "stranger", "bookworm": "alke"},
    {"alke": "base", "bookworm": "index"},
    {"alke": "unsigned", "bookworm": "origin"},
    {"alke": "bris", "bookworm": "expired"},
    {"alke": "index", "bookworm": "unsigned"},
    {"alke": "expired", "bookworm": "bris"},
    {"alke": "detached", "bookworm": "stranger"},
)
WORDS = {
    "stranger": "is signed by a key that nobody knows [R13]",
    "alke": "is signed by alke.key [R13]",
    "bris": "is signed by bris.key, which only holm-archive-keyring 1.1 brings [R13], [R20]",
    "base": "is signed by base.key [R13]",
    "unsigned": "has no signature [R13]",
    "detached": "has a Release.gpg of a key that nobody knows [R13]",
    "index": "has another index than its Release says [R14]",
    "origin": "says another Origin than before [R15]",
    "expired": "has a Valid-Until that is over [R16]",
}


def tampered(publisher, name, suite, what, stranger) -> None:
    """Publish a package in a way that must not be believed."""
    publisher.offer(suite, Deb(name, "6.6"))
    if what in ("stranger", "alke", "bris", "base"):
        publisher.publish(suite, key={**publisher.keys, "stranger": stranger}[what])
    elif what == "expired":
        publisher.publish(suite, valid_for=60)
    elif what == "origin":
        publisher.publish(suite, Origin="Holm", Label="Holm", Suite="alke", Codename="alke")
    elif what in ("unsigned", "detached"):
        text = publisher.publish(suite).encode()
        publisher.files.pop(publisher.path(suite, f"dists/{suite}/InRelease"))
        publisher.serve(suite, f"dists/{suite}/Release", text)
        if what == "detached":
            publisher.serve(suite, f"dists/{suite}/Release.gpg", stranger.detached(text))
    else:
        publisher.publish(suite)
        index = publisher.index(suite).replace("made for one trial", "made by somebody")
        publisher.serve(suite, f"dists/{suite}/{INDEX}", index.encode())


class Bench:
    """Attacks a station's archives; `spares` are what the station knew before and takes all the
    same while it refuses."""

    def __init__(self, station, publisher, stranger) -> None:
        self.station, self.publisher, self.stranger = station, publisher, stranger
        self.spares = [f"spare-{secrets.token_hex(3)}" for _ in ROUNDS]

    def offer_spares(self) -> None:
        for number, name in enumerate(self.spares):
            self.publisher.offer(("alke", "bookworm")[number % 2], Deb(name, "1"))

    def refused(self, number: int) -> None:
        """One of the rounds."""
        self.refuses(self.spares[number], **ROUNDS[number])

    def refuses(self, spare: str = "", **attacks: str) -> None:
        """Suites that are each attacked in one way: an update, and nothing of them is taken."""
        names = {suite: f"evil-{secrets.token_hex(3)}" for suite in attacks}
        before = {suite: dict(self.publisher.own[suite]) for suite in attacks}
        for suite, what in attacks.items():
            tampered(self.publisher, names[suite], suite, what, self.stranger)
        self.station.apt("update")
        for suite in attacks:
            self.publisher.own[suite] = before[suite]
        for suite, name in names.items():
            self.station.apt(f"install {name}")
            assert self.station.version(name) is None, (
                f"a package was taken from {suite}, which {WORDS[attacks[suite]]}"
            )
        assert not spare or self.station.apt(f"install {spare}") == 0, (
            f"{spare}, which it knew, cannot be installed while {attacks} are refused [R17]"
        )


def spoil(publisher, suite: str, name: str) -> None:
    """A package that is not there any more, or that is not what the index says."""
    package = publisher.suites[suite].packages.get(name)
    if package and name not in publisher.own[suite]:
        place, data = publisher.path(suite, package.path), package.data
    else:
        deb = publisher.own[suite][name]
        place, data = publisher.path(suite, f"pool/bench/{deb.file_name}"), deb.pack()
    if secrets.randbelow(2):
        del publisher.files[place]
    else:
        publisher.files[place] = data[:-1] + bytes([data[-1] ^ 1])


def still_one(station, site) -> None:
    """A whole 1.0 in use, of which nothing is 2.0's."""
    release = station.release()
    assert release == "holm 1.0 alke", f"it is {release!r}, not a whole 1.0 as before [R21]"
    there = station.installed()
    wanted = {**dict.fromkeys(BRIS), **ALKE, "bc": None, site.local: "1.0", site.ahead: "3.0"}
    wanted.pop("holm-archive-keyring")
    wrong = {name: there.get(name) for name in wanted if there.get(name) != wanted[name]}
    assert not wrong, f"{wrong}: not what a 1.0 has; [R21]: with nothing of 2.0 installed"
    register, total = next(iter(site.registers.items()))
    said = station.ask("version", "name", f"get {register}", seconds=60)
    expected = ["version 1.0", f"name {site.name}", f"total {total}"]
    assert said == expected, f"the service says {said}, not {expected} [R21]"


def hold_from(publisher, number: int) -> list[str]:
    """Do not answer whoever asks for a package, from the `number`th on; what was asked for."""
    seen: list[str] = []

    def held(path: str) -> bool:
        if not path.endswith(".deb"):
            return False
        if path not in seen and len(seen) < 1000:
            seen.append(path)
        return path not in seen[: number - 1]

    publisher.held = held
    return seen

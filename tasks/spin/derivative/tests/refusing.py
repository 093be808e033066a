"""Archives that are not what they should be, and a station that has to stay what it is."""

from __future__ import annotations

from debs import Deb
from delivered import INDEX
from releases import ALKE


def tampered(publisher, name, suite, what, stranger) -> None:
    """Publish a package in a way that must not be believed."""
    publisher.offer(suite, Deb(name, "6.6"))
    if what in ("stranger", "alke", "bris", "base"):
        publisher.publish(suite, key={**publisher.keys, "stranger": stranger}[what])
    elif what == "expired":
        publisher.publish(suite, valid_for=60)
    elif what == "origin":
        publisher.publish(suite, Origin="Holm", Label="Holm", Suite="alke", Codename="alke")
    else:
        text = publisher.publish(suite)
        if what == "unsigned":
            publisher.files.pop(publisher.path(suite, f"dists/{suite}/InRelease"))
            publisher.put(suite, f"dists/{suite}/Release", text.encode())
        else:
            index = publisher.index(suite).replace("made for one trial", "made by somebody")
            publisher.put(suite, f"dists/{suite}/{INDEX}", index.encode())


def refused(station, publisher, word, stranger, **attacks: str) -> None:
    """Suites that are each attacked in one way: an update, and nothing of them is taken."""
    names = {suite: word("evil") for suite in attacks}
    before = {suite: dict(publisher.own[suite]) for suite in attacks}
    for suite, what in attacks.items():
        tampered(publisher, names[suite], suite, what, stranger)
    station.apt("update")
    for suite, name in names.items():
        station.apt(f"install {name}")
        assert station.version(name) is None, f"{suite}, {attacks[suite]}: it was believed"
        publisher.own[suite] = before[suite]


def still_one(station) -> None:
    """A whole 1.0, of which nothing is 2.0's."""
    release = station.release()
    assert release == "holm 1.0 alke", f"it is {release!r}"
    there = station.installed()
    wanted = {**ALKE, "holm-registry": None, "holm-clock": None}
    wanted.pop("holm-archive-keyring")
    wrong = {name: there.get(name) for name in wanted if there.get(name) != wanted[name]}
    assert not wrong, f"not 1.0: {wrong}"
    said = station.ask("version", seconds=60)
    assert said == ["version 1.0"], f"the service says {said}"


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

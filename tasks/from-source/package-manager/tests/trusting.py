"""Indexes: whose are believed."""

from __future__ import annotations

import time

import cases
from form import index
from repository import Repository

FORM = "an index of another form [R8]"
HIGH = 900_000_000  # of an index that is refused: it was never taken, so it stands in nobody's way


def another_key_is_not_believed(station, repository) -> None:
    station.say(f"sed -i 's#^repository=.*#repository={repository.url}#' /etc/lade.conf")
    station.ends("update", 11, "no key in lade.conf fits the signature [R8]")
    station.follow(repository)
    station.done("update")
    # One of several keys is enough.
    other = Repository(repository.host)
    station.follow(repository, f"key={other.key}", "", "# more")
    station.done("update")
    station.follow(other, f"key={repository.key.upper()}")
    station.say(f"sed -i 's#^repository=.*#repository={repository.url}#' /etc/lade.conf")
    station.done("update")
    # A line that begins with # says nothing.
    station.follow(other, f"#key={repository.key}", f"# key={repository.key}")
    station.say(f"sed -i 's#^repository=.*#repository={repository.url}#' /etc/lade.conf")
    station.ends("update", 11, "the key that fits stands behind a # alone [R8]")
    other.close()
    station.follow(repository)


def false_signatures(station, repository, word, draw) -> None:
    """What is refused leaves the index before in force: `there` is known, `new` is not."""
    there, new = cases.package(word("there"), "1", "a"), cases.package(word("new"), "1", "b")
    repository.offer(there)
    old = repository.files[repository.place("INDEX.sig")]
    station.done("update")
    repository.offer(new)
    good = index(repository.packages.values(), repository.serial)
    right = repository.sign(good)
    other = Repository(repository.host)
    false = {
        "of the index before": old, "of nobody": bytes(64), "none": b"", "too short": right[:63],
        "too long": right + b"\0",
        "of another key": other.sign(good),
        "of an index with a bit changed": repository.sign(cases.forged(good, draw)),
        "with a bit changed": cases.forged(right, draw),
    }  # fmt: skip
    high = index(repository.packages.values(), HIGH)
    repository.put_index(high, other.sign(high))
    station.ends("update", 11, "a signature of another key, and a high serial [R8]")
    other.close()
    for what, signature in false.items():
        repository.put_index(good, signature)
        station.ends("update", 11, f"a signature {what} [R8]")
    repository.put_index(cases.forged(good, draw), right)
    station.ends("update", 11, "an index with a bit changed [R8]")
    station.ends(f"install {new.name}", 13, "the index that has it was refused [R8]")
    repository.asked.clear()
    station.done(f"install {there.name}")
    fetched = repository.fetched()
    assert fetched == [there.file_name], f"fetched {fetched}; {there.file_name} was wanted [R9]"
    repository.publish()
    station.done("update")


def indexes_of_another_form(station, repository, word) -> None:
    new = cases.package(word("odd"), "1", "x")
    packages = [*repository.packages.values(), (new, new.pack())]
    for what, data in cases.indexes(packages, HIGH).items():
        repository.put_index(data)
        station.ends("update", 11, f"{FORM}: {what}")
    station.ends(f"install {new.name}", 13, "all indexes that have it were refused [R8]")
    repository.publish()
    station.done("update")


def older_indexes(station, repository) -> None:
    packages = repository.packages.values()
    repository.publish()
    station.done("update")
    for serial, status in ((repository.serial - 1, 11), (9, 11), (repository.serial, 0)):
        repository.put_index(index(packages, serial))
        station.ends("update", status, f"serial {serial} after {repository.serial} [R8]")


def an_index_that_does_not_come(station, repository) -> None:
    place = repository.place("INDEX")
    repository.publish()
    size = len(repository.files[place])
    repository.cut = {place: size // 2}
    station.ends("update", 10, "half an index comes, and the connection ends")
    repository.cut = {}
    del repository.files[f"{place}.sig"]
    station.ends("update", 10, "there is no INDEX.sig")
    repository.publish()
    silent = "nothing of it comes for 10 seconds"
    repository.held = {place}
    station.ends("update", 10, silent, 40)
    repository.calm()
    repository.stalled = {place: size // 3}
    began = time.monotonic()
    station.ends("update", 10, f"{silent}, after a third", 40)
    took = time.monotonic() - began
    assert took > 9, f"given up after {took:.1f} s of silence; 10 were to be waited"
    # A line that is slow and never silent for so long is none that fails.
    repository.calm()
    repository.slow = {place: (size // 3 + 1, 6.0)}
    station.ends("update", 0, "all of it came, and nothing was silent for 10 seconds", 90)
    repository.calm()
    repository.publish()
    station.done("update")

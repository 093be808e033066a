"""Indexes: whose are believed."""

from __future__ import annotations

import cases
from form import index
from repository import Repository


def another_key_is_not_believed(station, repository) -> None:
    station.say(f"sed -i 's#^repository=.*#repository={repository.url}#' /etc/lade.conf")
    assert station.lade("update") == 11, "an index signed with a key that is not in lade.conf"
    station.follow(repository)
    station.done("update")


def false_signatures(station, repository, word, draw) -> None:
    """What is refused leaves the index before in force: `there` is known, `new` is not."""
    there, new = cases.package(word("there"), "1", "a"), cases.package(word("new"), "1", "b")
    repository.offer(there)
    old = repository.files[f"/{repository.folder}/INDEX.sig"]
    station.done("update")
    repository.offer(new)
    good = index(repository.packages.values(), repository.serial)
    other = Repository()
    false = {
        "of the index before": old, "of nobody": bytes(64), "none": b"", "too short": old[:63],
        "of another key": other.sign(good),
        "of an index with a bit changed": repository.sign(cases.forged(good, draw)),
        "with a bit changed": cases.forged(repository.sign(good), draw),
    }  # fmt: skip
    other.close()
    for what, signature in false.items():
        repository.put_index(good, signature)
        assert station.lade("update") == 11, f"a signature {what}"
    repository.put_index(cases.forged(good, draw), repository.sign(good))
    assert station.lade("update") == 11, "an index with a bit changed"
    assert station.lade(f"install {new.name}") == 13, "an index that was refused is in force"
    repository.asked.clear()
    station.done(f"install {there.name}")
    assert repository.fetched() == [there.file_name]


def indexes_of_another_form(station, repository, shared) -> None:
    packages = list(repository.packages.values())
    for what, data in cases.indexes(packages, repository.serial + 1).items():
        repository.put_index(data)
        assert station.lade("update") == 11, f"an index with {what}"


def older_indexes(station, repository) -> None:
    packages = repository.packages.values()
    repository.publish()
    station.done("update")
    for serial, status in ((repository.serial - 1, 11), (9, 11), (repository.serial, 0)):
        repository.put_index(index(packages, serial))
        assert station.lade("update") == status, f"serial {serial} after {repository.serial}"


def an_index_that_does_not_come(station, repository) -> None:
    place = f"/{repository.folder}/INDEX"
    repository.publish()
    repository.cut = {place: len(repository.files[place]) // 2}
    assert station.lade("update") == 10, "half an index"
    repository.cut = {}
    del repository.files[f"{place}.sig"]
    assert station.lade("update") == 10, "no signature"
    repository.held = {place}
    assert station.lade("update", 60) == 10, "an index that does not come"
    repository.release()
    repository.publish()
    station.done("update")

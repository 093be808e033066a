"""What has to be refused, with nothing changed."""

from __future__ import annotations

import cases
from form import Package


def packages_of_another_form(station, repository, word, draw) -> None:
    listed = {}
    for what in cases.damaged("odd", draw):
        listed[what] = word("odd")
        repository.packages[listed[what]] = cases.damaged(listed[what], draw)[what]
    repository.publish()
    station.done("update")
    station.note()
    said = {what: station.lade(f"install {name}") for what, name in listed.items()}
    wrong = {what: status for what, status in said.items() if status != 12}
    repository.withdraw(*listed.values())
    assert not wrong, f"12 was to be said, and this was: {wrong}"
    station.changed()
    assert not set(listed.values()) & set(station.versions())


def packages_that_were_exchanged(station, repository, word, draw) -> None:
    package = cases.package(word("swap"), "1.0", "x" * 70000)
    repository.offer(package)
    station.done("update")
    station.note()
    size = int(station.say("du -sk /var/lib/lade").split()[0])
    data = package.pack()
    other = package.but(entries=dict(package.entries)).file(
        f"opt/{package.name}/data", "y" * 70000 + "\n"
    )
    for what, false in {
        "other content": other.pack(),
        "a bit": cases.forged(data, draw),
        "more": data + bytes(512),
    }.items():
        repository.swap(package, false)
        assert station.lade(f"install {package.name}") == 12, f"a package with {what} changed"
    repository.swap(package, data)
    place = f"/{repository.folder}/{package.file_name}"
    for half in (0, 700, len(data) - 1):
        repository.cut = {place: half}
        assert station.lade(f"install {package.name}") == 10, f"{half} bytes of a package"
    repository.cut = {}
    del repository.files[place]
    station.refuses(f"install {package.name}", 10)
    assert int(station.say("du -sk /var/lib/lade").split()[0]) - size <= 2 * len(data) // 1024 + 16
    repository.publish()
    station.done(f"install {package.name}")


def what_cannot_be(station, repository, word, shared) -> None:
    n = [word("no") for _ in range(12)]
    have = shared["needs"][0]
    made = [
        Package(n[0], "1", needs=["no-such-thing"]), Package(n[1], "1", needs=["libc>=99"]),
        Package(n[2], "1", needs=[n[3]]), Package(n[3], "1", needs=[n[4]]),
        Package(n[4], "1", needs=[n[2]]),
        Package(n[5], "1", needs=[n[5]]), Package(n[6], "1", conflicts=[have]),
        Package(n[7], "1", conflicts=[n[8]]), Package(n[8], "1"), Package(n[9], "1", needs=[n[2]]),
        Package(n[10], "1"),
    ]  # fmt: skip
    for package in made:
        package.file(f"opt/{package.name}", package.name)
    repository.offer(*made)
    station.done("update")
    station.done(f"install {n[7]}")
    station.note()
    repository.asked.clear()
    for words in (
        n[11],
        n[0],
        n[1],
        n[2],
        n[5],
        n[6],
        n[8],
        n[9],
        f"{n[10]} {n[11]}",
        f"{n[10]} {n[6]}",
    ):
        assert station.lade(f"install {words}") == 13, words
    station.changed()
    assert repository.fetched() == [], "packages of what cannot be were fetched"
    repository.withdraw(*n)


def files_in_the_way(station, repository, word) -> None:
    a, b, c, d, e, f, g = (word("way") for _ in range(7))
    station.say(f"mkdir -p /opt/{a}.d && echo mine >/opt/{a}.txt && ln -s {a}.d /opt/{a}.link")
    other = Package(b, "1").file(f"opt/{b}", b)
    made = [
        Package(a, "1").file(f"opt/{a}.txt", a), other, Package(c, "1").file(f"opt/{b}", b),
        Package(d, "1").file(f"opt/{a}.link/below", d), Package(e, "1").file(f"opt/{b}/below", e),
        Package(f, "1").file(f"opt/{f}", f),
        Package(g, "1").file(f"opt/{g}", g).link(f"opt/{f}", g),
    ]  # fmt: skip
    repository.offer(*made, Package(f"{a}-dir", "1").file(f"opt/{a}.d", a))
    station.done("update")
    station.done(f"install {b}")
    station.note()
    for words in (a, c, d, e, f"{f} {g}", f"{a}-dir"):
        if words == f"{a}-dir":
            station.say(f"echo mine >/opt/{a}.d/kept")
            station.note()
        assert station.lade(f"install {words}") == 14, words
    station.changed()
    station.done(f"install {f}")
    assert station.lade(f"install {g}") == 14
    station.say(f"rm -r /opt/{a}.d /opt/{a}.txt /opt/{a}.link")


def wrong_calls(station) -> None:
    station.note()
    for words in ("", "frobnicate", "install", "files", "build /tmp", "list all"):
        assert station.lade(words) == 2, words
    for words in ("files nobody", "owner /etc/nobody", "remove nobody", "install nobody"):
        assert station.lade(words) == 13, words
    station.changed()

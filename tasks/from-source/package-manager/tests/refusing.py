"""What has to be refused, with nothing changed. A sound package between them is still installed."""

from __future__ import annotations

import cases
from form import Package

# Where a station may write by itself, and a call that fails may not.
ASIDE_OF_ALL = "find /tmp /root /var -xdev -path /var/lib/lade -prune -o -print"
MANY = 10
LEFT = "never more than twice the size of the packages that were called for [R16]"


def packages_of_another_form(station, repository, word, draw) -> None:
    listed, good = {}, cases.package(word("even"), "1", word("even"))
    for what in cases.damaged("odd", draw):
        listed[what] = word("odd")
        repository.packages[listed[what]] = cases.damaged(listed[what], draw)[what]
    repository.offer(good)
    try:
        station.done("update")
        station.note()
        before = set(station.say(ASIDE_OF_ALL).splitlines())
        said = {what: station.lade(f"install {name}") for what, name in listed.items()}
        more = sorted(set(station.say(ASIDE_OF_ALL).splitlines()) - before)
    finally:
        repository.withdraw(*listed.values())
    wrong = {what: status for what, status in said.items() if status != 12}
    assert not wrong, f"packages with these faults ended with another status than 12 [R14]: {wrong}"
    station.changed()
    assert len(more) < MANY, (
        f"{len(listed)} calls were refused, and outside of /var/lib/lade there is [R16]: {more[:5]}"
    )
    left = sorted(set(listed.values()) & set(station.versions()))
    assert not left, f"lade list has packages that were refused [R16]: {left}"
    station.done("update")
    station.done(f"install {good.name}")
    station.has_all(good)


def packages_that_were_exchanged(station, repository, word, draw) -> None:
    package = cases.package(word("swap"), "1.0", "x" * 70000)
    repository.offer(package)
    station.done("update")
    station.note()
    size = int(station.say("du -sk /var/lib/lade").split()[0])
    data = package.pack()
    other = package.but().file(f"opt/{package.name}/data", "y" * 70000 + "\n")
    for what, false in {
        "other content": other.pack(),
        "a bit that is another": cases.forged(data, draw),
        "more behind it": data + bytes(512),
    }.items():
        repository.swap(package, false)
        station.ends(f"install {package.name}", 12, f"a package with {what} [R14]")
    repository.swap(package, data)
    place = repository.place(package.file_name)
    for half in (0, 700, len(data) - 1):
        repository.cut = {place: half}
        station.ends(f"install {package.name}", 10, f"it ends after {half} bytes of {len(data)}")
    repository.cut = {}
    del repository.files[place]
    station.refuses(f"install {package.name}", 10, "its file is not there")
    more = int(station.say("du -sk /var/lib/lade").split()[0]) - size
    assert more <= 2 * len(data) // 1024 + 16, f"{more} KiB more below /var/lib/lade; {LEFT}"
    repository.publish()
    station.done("update")
    station.done(f"install {package.name}")
    station.has_all(package)


def what_cannot_be(station, repository, word) -> None:
    n = [word("no") for _ in range(16)]
    made = [
        Package(n[0], "1", needs=[word("none")]), Package(n[1], "1", needs=["libc>=999999999"]),
        Package(n[2], "1", needs=[n[3]]), Package(n[3], "1", needs=[n[4]]),
        Package(n[4], "1", needs=[n[2]]),
        Package(n[5], "1", needs=[n[5]]), Package(n[6], "1", conflicts=[n[12]]),
        Package(n[7], "1", conflicts=[n[8]]), Package(n[8], "1"), Package(n[9], "1", needs=[n[2]]),
        Package(n[10], "1"), Package(n[12], "1"), Package(n[13], "1", conflicts=[n[10]]),
        Package(n[14], "1", needs=[n[8]]),
    ]  # fmt: skip
    for package in made:
        package.file(f"opt/{package.name}", package.name)
    repository.offer(*made)
    station.done("update")
    station.done(f"install {n[7]} {n[12]}")
    station.note()
    repository.asked.clear()
    try:
        for words, why in (
            (n[11], "it is not in the index"),
            (n[0], "its need is not in the index [R13]"),
            (n[1], "its need is there in an older version only [R13]"),
            (n[2], "its needs go round in a circle [R13]"),
            (n[5], "it needs itself [R13]"),
            (n[6], "it excludes an installed one [R13]"),
            (n[8], "an installed one excludes it [R13]"),
            (n[14], "an installed one excludes what it needs [R13]"),
            (n[9], "the needs of its need go round in a circle [R13]"),
            (f"{n[10]} {n[13]}", "one excludes the other [R13]"),
            (f"{n[10]} {n[11]}", "one is not in the index [R16]"),
            (f"{n[10]} {n[6]}", "one excludes an installed one [R16]"),
        ):
            station.ends(f"install {words}", 13, why)
        station.changed()
        fetched = repository.fetched()
        assert not fetched, f"fetched what it did not install [R9]: {fetched}"
        station.done(f"install {n[10]}")
        station.has_all(next(package for package in made if package.name == n[10]))
    finally:
        repository.withdraw(*n)


def files_in_the_way(station, repository, word) -> None:
    a, b, c, d, e, f, g = (word("way") for _ in range(7))
    station.say(f"mkdir -p /opt/{a}.d && echo mine >/opt/{a}.txt && ln -s {a}.d /opt/{a}.link")
    station.say(f"echo mine >/opt/{a}.d/kept; ln -s /no/such /opt/{a}.lost")
    made = {
        a: Package(a, "1").file(f"opt/{a}.txt", a), b: Package(b, "1").file(f"opt/{b}", b),
        c: Package(c, "1").file(f"opt/{b}", b), d: Package(d, "1").file(f"opt/{a}.link/below", d),
        e: Package(e, "1").file(f"opt/{b}/below", e), f: Package(f, "1").file(f"opt/{f}", f),
        g: Package(g, "1").file(f"opt/{g}", g).link(f"opt/{f}", g),
        f"{a}-lost": Package(f"{a}-lost", "1").file(f"opt/{a}.lost", a),
        f"{a}-dir": Package(f"{a}-dir", "1").file(f"opt/{a}.d", a),
        f"{a}-link": Package(f"{a}-link", "1").link(f"opt/{a}.txt", a),
    }  # fmt: skip
    repository.offer(*made.values())
    station.done("update")
    station.done(f"install {b}")
    station.note()
    for words, why in (
        (a, "a file that is nobody's is there"),
        (f"{a}-link", "a file that is nobody's is there"),
        (f"{a}-lost", "a link that is nobody's, and leads nowhere, is there"),
        (c, "a file of another package is there"),
        (d, "it lies below a link"),
        (e, "it lies below a file"),
        (f"{f} {g}", "both have the same path"),
        (f"{a}-dir", "a folder with a file that is nobody's is there"),
    ):
        station.ends(f"install {words}", 14, f"{why} [R15]")
    station.changed()
    station.done(f"install {f}")
    station.has_all(made[b], made[f])
    station.ends(f"install {g}", 14, "a file of another package is there [R15]")
    station.say(f"rm -r /opt/{a}.d /opt/{a}.txt /opt/{a}.link /opt/{a}.lost")
    repository.withdraw(*made)


def wrong_calls(station, word) -> None:
    station.note()
    for words in (
        "", word("word"), "install", "remove", "files", "owner", "build /tmp", "list all",
        "update now", "upgrade all", "rollback 1", "verify all", "files libc cc", "owner /etc /usr",
        "build /tmp /tmp /tmp",
    ):  # fmt: skip
        station.ends(words, 2, "it was called wrongly")
    nobody = word("nobody")
    for words in (f"files {nobody}", f"remove {nobody}", f"install {nobody}"):
        station.ends(words, 13, "there is no such package")
    station.ends(f"owner /etc/{nobody}", 13, "it belongs to no package [R25]")
    station.changed()

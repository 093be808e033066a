"""Upgrades and removals."""

from __future__ import annotations

import cases
from form import Package
from station import lines


def all_that_can_move(station, repository, word, nonce, shared) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    assert station.holds(*old)
    repository.offer(*new)
    station.done("update")
    station.note()
    station.done("upgrade")
    before = {**old[0].entries, **old[1].entries}
    after = {**new[0].entries, **new[1].entries}
    station.changed(lines(before), lines(after))
    assert station.asks(f"owner /opt/{old[0].name}/moves") == [old[1].name]
    station.sound()
    shared["family"] = new


def only_what_is_later(station, repository, word) -> None:
    a, b, c, d = (word(stem) for stem in ("hill", "isle", "jetty", "knoll"))
    made = {name: Package(name, "1.5").file(f"opt/{name}", name) for name in (a, b, c)}
    repository.offer(*made.values())
    station.done("update")
    station.done(f"install {a} {b} {c}")
    repository.withdraw(b)
    extra = Package(d, "1").file(f"opt/{d}", d)
    repository.offer(made[a].but(version="1.4.9"), made[c].but(version="1.5.0.1", needs=[d]), extra)
    station.done("update")
    repository.asked.clear()
    station.done("upgrade")
    assert repository.fetched() == sorted([f"{c}-1.5.0.1.pkg", f"{d}-1.pkg"])
    versions = station.versions()
    assert [versions[name] for name in (a, b, c, d)] == ["1.5", "1.5", "1.5.0.1", "1"]
    repository.offer(extra.but(version="2", conflicts=[b]))
    station.done("update")
    station.note()
    station.refuses("upgrade", 13)
    repository.withdraw(d)


def what_is_needed_stays(station, repository, word) -> None:
    a, b, c = (word("lake") for _ in range(3))
    made = [Package(a, "1").file(f"opt/{a}/x/a", a), 
            Package(b, "1", needs=[f"{a}>=1"]).file(f"opt/{a}/b", b),
            Package(c, "1", needs=[b]).file(f"opt/{c}/x/y/c", c)]  # fmt: skip
    repository.offer(*made)
    station.done("update")
    station.note()
    station.done(f"install {c}")
    for words in (a, b, f"{a} {b}"):
        assert station.lade(f"remove {words}") == 13, words
    assert station.holds(*made)
    station.say(f"echo mine >/opt/{c}/x/mine")
    station.done(f"remove {a} {c} {b}")
    mine = Package(c, "1").file(f"opt/{c}/x/mine", "mine\n")
    station.changed(come={row for row in lines(mine.entries) if not row.endswith("|./opt")})
    station.say(f"rm -r /opt/{c}")
    assert not {a, b, c} & set(station.versions())

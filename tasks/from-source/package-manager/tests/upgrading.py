"""Upgrades and removals."""

from __future__ import annotations

import cases
from form import Package
from station import lines


def all_that_can_move(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    station.has_all(*old)
    repository.offer(*new)
    station.done("update")
    yard = f"opt/{old[0].name}/yard"
    station.say(f"echo mine >/{yard}/mine")
    station.note()
    station.done("upgrade")
    before = {**old[0].entries, **old[1].entries}
    del before[yard]  # it is no longer a package's, and not empty
    after = {**new[0].entries, **new[1].entries}
    station.changed(lines(before), lines(after))
    owner = station.asks(f"owner /opt/{old[0].name}/moves")
    assert owner == [old[1].name], (
        f"a file that moved to {old[1].name} is said to be {owner}'s [R10]"
    )
    station.sound()


def only_what_is_later(station, repository, word) -> None:
    a, b, c, d, e = (word(stem) for stem in ("hill", "isle", "jetty", "knoll", "loch"))
    made = {name: Package(name, "1.5").file(f"opt/{name}", name) for name in (a, b, c, e)}
    repository.offer(*made.values())
    station.done("update")
    station.done(f"install {a} {b} {c} {e}")
    station.done("upgrade")
    repository.withdraw(b)
    extra = Package(d, "1").file(f"opt/{d}", d)
    repository.offer(made[a].but(version="1.4.9"), made[c].but(version="1.5.0.1", needs=[d]), extra)
    repository.offer(made[e].but(version="1.5.0"))
    station.done("update")
    repository.asked.clear()
    station.done("upgrade")
    fetched, wanted = repository.fetched(), sorted([f"{c}-1.5.0.1.pkg", f"{d}-1.pkg"])
    assert fetched == wanted, f"fetched {fetched}; {wanted} was wanted [R9, R10]"
    versions = station.versions()
    found = [versions.get(name) for name in (a, b, c, d, e)]
    assert found == ["1.5", "1.5", "1.5.0.1", "1", "1.5"], (
        f"after the upgrade there are {found} [R10]"
    )
    for late, why in (
        (extra.but(version="2", conflicts=[b]), "the later version excludes an installed one"),
        (extra.but(version="2", needs=[c]), "with the later version needs go round in a circle"),
        (extra.but(version="2", needs=[word("none")]), "the later version's need is not there"),
    ):
        repository.offer(late)
        station.done("update")
        station.note()
        try:
            station.refuses("upgrade", 13, f"{why} [R13]")
        finally:
            repository.withdraw(d)
    station.done("update")


def what_is_needed_stays(station, repository, word) -> None:
    a, b, c = (word("lake") for _ in range(3))
    made = [Package(a, "1").file(f"opt/{a}/x/a", a).dir(f"opt/{a}/hollow").link(f"opt/{a}/l", "x"),
            Package(b, "1", needs=[f"{a}>=1"]).file(f"opt/{a}/b", b),
            Package(c, "1", needs=[b]).file(f"opt/{c}/x/y/c", c)]  # fmt: skip
    repository.offer(*made)
    station.done("update")
    station.say("mkdir -p /opt")
    station.note()
    station.done(f"install {c}")
    for words in (a, b, f"{a} {b}"):
        station.ends(f"remove {words}", 13, "an installed one needs it [R11]")
    station.has_all(*made)
    # What somebody has deleted, or changed where there is nothing to set, holds up nothing.
    station.say(f"echo mine >/opt/{c}/x/mine; rm /opt/{a}/x/a; echo more >>/opt/{a}/b")
    station.done(f"remove {a} {c} {b}")
    went, _ = station.changes()
    mine = Package(c, "1").file(f"opt/{c}/x/mine", "mine\n")
    station.changed(
        gone={row for row in went if row.endswith("|./opt")},
        come={row for row in lines(mine.entries) if not row.endswith("|./opt")},
    )
    station.say(f"rm -r /opt/{c}")
    left = {a, b, c} & set(station.versions())
    assert not left, f"lade list has what was removed: {left}"

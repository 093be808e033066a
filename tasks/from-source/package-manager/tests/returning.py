"""The way back; the station's own parts."""

from __future__ import annotations

import cases
import form
from station import lines


def back_from_an_upgrade(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    settings = [f"etc/{old[0].name}.{n}" for n in "abc"]
    for path in settings:
        old[0].config(path, nonce())
        new[0].config(path, nonce())
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    station.say(f"echo ours >/{settings[2]}")
    before = station.versions()
    station.note()
    repository.offer(*new)
    station.done("update")
    station.done("upgrade")
    assert station.lade(f"install {word('none')}") == 13
    station.say(f"echo since >/{settings[1]}; mv /etc/lade.conf /run/bench/")
    repository.asked.clear()
    station.done("rollback")
    assert repository.asked == [], "it asked the repository"
    station.say("mv /run/bench/lade.conf /etc/")
    since = {settings[1]: form.Entry("file", 0o644, data=b"since\n")}
    station.changed(lines({settings[1]: old[0].entries[settings[1]]}), lines(since))
    assert station.versions() == before
    station.sound()
    assert station.lade("rollback") == 17
    station.done("upgrade")
    assert station.say(f"cat /{settings[1]}") == "since"
    repository.withdraw(*(package.name for package in new))


def back_from_the_others(station, repository, word, nonce) -> None:
    made = cases.package(word("pine"), "1", nonce())
    late = made.but(version="2", check=cases.script("exit 1"))
    repository.offer(made)
    station.done("update")
    station.note()
    station.done(f"install {made.name}")
    station.done(f"install {made.name}")
    repository.offer(late)
    station.done("update")
    assert station.lade("upgrade") == 16
    station.done("rollback")
    station.changed()
    assert made.name not in station.versions()
    repository.offer(made)
    station.done("update")
    station.done(f"install {made.name}")
    station.done(f"remove {made.name}")
    station.changed()
    station.done("rollback")
    assert station.holds(made) and station.versions()[made.name] == "1"
    assert station.lade("rollback") == 17


def its_own_parts(station, repository, own, nonce) -> None:
    parts = [cases.bumped(own[name], nonce()) for name in cases.OWN_PARTS]
    repository.offer(*parts)
    station.done("update")
    before, shown = station.versions(), station.has("usr/share")
    station.note()
    station.done("upgrade")
    new = {p: e for part in parts for p, e in part.entries.items() if "usr/share/bench" in p}
    for part in parts:
        # We changed lade.conf.
        if "etc/lade.conf" in part.configs:
            new["etc/lade.conf.lade-new"] = part.entries["etc/lade.conf"]
    if not shown:
        new["usr/share"] = form.Entry("directory")
    station.changed(come=lines(new))
    expected = before | {part.name: part.version for part in parts}
    station.restart()
    assert station.versions() == expected
    station.sound()
    station.done("rollback")
    station.changed()
    station.restart()
    assert station.versions() == before
    station.online(15)
    station.done("upgrade")
    assert station.versions() == expected and "key=" in station.say("cat /etc/lade.conf")

"""The way back; the station's own parts."""

from __future__ import annotations

import cases
import form
from station import lines

NOTHING = "there is nothing to go back to [R24]"


def nothing_on_a_new_station(lonely) -> None:
    if lonely.machine.alive:  # a check that failed left it so
        lonely.cut()
        lonely.machine.reset_disks()
    lonely.start()
    before = lonely.versions()
    lonely.note()
    lonely.refuses("rollback", 17, f"{NOTHING}, on a station to which nothing was done")
    said = lonely.versions()
    assert said == before, f"a rollback of nothing, and lade list has {said} [R24]"
    lonely.gave_reasons(17)
    lonely.machine.close()


def back_from_an_upgrade(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    settings = [f"etc/{old[0].name}.{n}" for n in "abc"]
    for path in settings:
        old[0].config(path, nonce())
        new[0].config(path, nonce())
    repository.offer(*old)
    station.done("update")
    station.done("upgrade")
    station.done(f"install {old[0].name} {old[1].name}")
    station.say(f"echo ours >/{settings[2]}; echo older >/{settings[2]}.lade-new")
    before = station.versions()
    station.note()
    repository.offer(*new)
    station.done("update")
    station.done("upgrade")
    station.ends(f"install {word('none')}", 13, "it is not in the index")
    station.say(f"echo since >/{settings[1]}")
    repository.asked.clear()
    station.done("rollback")
    assert not repository.asked, f"rollback asked the repository for {repository.asked} [R24]"
    since = {settings[1]: form.Entry("file", 0o644, data=b"since\n")}
    station.changed(lines({settings[1]: old[0].entries[settings[1]]}), lines(since))
    said = station.versions()
    assert said == before, f"after rollback lade list has {said}, {before} was wanted [R24]"
    station.sound()
    station.ends("rollback", 17, f"{NOTHING}: it went back already")
    station.done("upgrade")
    said = station.run(f"cat /{settings[1]}").stdout
    assert said == "since\n", f"an upgrade after rollback left {said!r} of what somebody set [R21]"
    repository.withdraw(*(package.name for package in new))
    station.done("update")


def back_from_the_others(station, repository, word, nonce) -> None:
    made = cases.package(word("pine"), "1", nonce())
    setting = f"etc/{made.name}.conf"
    made.config(setting, nonce()).file(f"var/bench/{made.name}/x", nonce())
    late = made.but(version="2", check=cases.script("exit 1"))
    repository.offer(made)
    station.done("update")
    station.done("upgrade")
    station.note()
    station.done(f"install {made.name}")
    station.done(f"install {made.name}")
    repository.offer(late)
    station.done("update")
    station.ends("upgrade", 16, "the check of a package failed [R17]")
    station.done("rollback")
    station.changed()
    assert made.name not in station.versions(), (
        "the last transaction that changed something was an install, and it was not taken back: "
        "one that changes nothing and one that fails do not count [R24]"
    )
    repository.offer(made)
    station.done("update")
    station.done(f"install {made.name}")
    station.done(f"remove {made.name}")
    station.changed()
    station.done(f"install {made.name}")
    # A removal renames what somebody set; the way back brings it to its place again.
    station.say(f"echo ours >/{setting}")
    station.note()
    station.done(f"remove {made.name}")
    station.done("rollback")
    station.changed()
    assert station.holds(made, without=[setting]), (
        f"a remove was taken back, and not all files of {made.file_name} are there [R24]"
    )
    said = station.versions().get(made.name)
    assert said == "1", f"a remove was taken back, and lade list has {made.name} {said} [R24]"
    station.ends("rollback", 17, f"{NOTHING}: it went back already")


def its_own_parts(station, repository, own, nonce) -> None:
    old = [own[name] for name in cases.OWN_PARTS]
    parts = [cases.bumped(package, nonce()) for package in old]
    station.done("upgrade")
    repository.offer(*parts)
    station.done("update")
    before = station.versions()
    there_already = {path for path in ("usr", "usr/share") if station.has(path)}
    station.note()
    station.done("upgrade")
    gone, come = {}, {}
    for was, part in zip(old, parts, strict=True):
        for path, entry in part.entries.items():
            there = was.entries.get(path)
            if there == entry or path in there_already:
                continue
            come[path] = entry
            if there:
                gone[path] = there
        # We changed lade.conf. That the package's is the one that it was leaves it open whether
        # there is a new one to be put beside it.
        beside = "etc/lade.conf.lade-new"
        if "etc/lade.conf" in part.configs and station.has(beside):
            come[beside] = part.entries["etc/lade.conf"]
    station.changed(lines(gone), lines(come))
    expected = before | {part.name: part.version for part in parts}
    said = station.versions()
    assert said == expected, f"lade list has {said}, {expected} was wanted [R30]"
    station.restart()
    said = station.versions()
    assert said == expected, f"after a restart lade list has {said}, {expected} was wanted [R30]"
    station.sound()
    station.done("rollback")
    station.changed()
    station.restart()
    said = station.versions()
    assert said == before, f"taken back, lade list has {said}, {before} was wanted [R30]"
    station.online(15)
    # It is still our lade.conf [R21].
    station.done("update")
    station.done("upgrade")
    said = station.versions()
    assert said == expected, f"upgraded again, lade list has {said}, {expected} was wanted [R30]"

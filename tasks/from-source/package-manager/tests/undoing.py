"""Transactions that fail, hang, are killed or find no room."""

from __future__ import annotations

import cases
from form import Package


def a_check_that_fails(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    before = station.versions()
    new[1].check = cases.script(f"test -e opt/{new[0].name}/to-dir/z || exit 0", "exit 3")
    repository.offer(*new)
    station.done("update")
    station.note()
    station.refuses("upgrade", 16)
    assert station.versions() == before
    station.sound()
    new[1].check = None
    repository.offer(*(package.but(version=f"{package.version}.7") for package in new))


def a_check_that_does_not_end(station, repository, word) -> None:
    slow, other = word("moor"), word("ness")
    mark = repository.mark(slow)
    check = cases.script(f"wget -q -O /dev/null {mark}", "sleep 300")
    repository.offer(
        Package(slow, "1", check=check).file(f"opt/{slow}", slow), cases.package(other, "1", other)
    )
    station.done("update")
    station.note()
    station.background(f"install {slow}")
    station.awaits(lambda: repository.marked(slow), 60, "a check")
    for words in (f"install {other}", "update", "upgrade", "remove cc", "rollback"):
        assert station.lade(words, 20) == 15, f"lade {words} while another one is at work"
    assert slow not in station.versions()
    assert station.lade(f"files {slow}") == 13
    assert station.asks("owner $(command -v lade)") == ["lade"]
    assert station.ended(60) == 16, "a check that did not end"
    station.changed()
    assert station.run("ps | grep -v grep | grep 'sleep 300'").status != 0, "it was not stopped"
    repository.withdraw(slow)


def lade_is_killed(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    before = station.versions()
    repository.held = {f"/mark/{old[0].name}"}
    new[1].check = cases.script(f"wget -q -O /dev/null {repository.mark(old[0].name)}")
    repository.offer(*new)
    station.done("update")
    station.note()
    station.background("upgrade")
    station.awaits(lambda: repository.marked(old[0].name), 60, "a check")
    station.say("kill -9 -$(cat /run/bench/pid)")
    repository.release()
    assert station.versions() == before
    station.changed()
    station.sound()
    station.done("upgrade")
    assert station.holds(*new)


def there_is_no_room(station, repository, word, nonce) -> None:
    name = word("oak")
    made = Package(name, "1")
    for number in range(30):
        made.file(f"opt/{name}/{number}", nonce() * 1000)
    repository.offer(made)
    station.done("update")
    station.note()
    station.run("dd if=/dev/zero of=/root/fill bs=64k 2>/dev/null; sync", 120)
    station.refuses(f"install {name}", 18)
    station.say("rm /root/fill")
    station.run(
        "n=$(($(stat -f -c '%a*%S' /) / 65536 - 6)); "
        "dd if=/dev/zero of=/root/fill bs=64k count=$n 2>/dev/null"
    )
    station.refuses(f"install {name}", 18)
    station.say("rm /root/fill; sync")
    station.done(f"install {name}")
    assert station.holds(made)

"""Transactions that fail, hang, are killed or find no room."""

from __future__ import annotations

import time

import cases
from form import Package

UNDONE = 20  # to stop a check and undo what was done, on a slow station
CHECK_FAILED = "the check of a package failed [R17]"


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
    try:
        station.refuses("upgrade", 16, CHECK_FAILED)
    finally:
        repository.withdraw(*(package.name for package in new))
    said = station.versions()
    assert said == before, f"after a transaction that failed lade list has {said} [R16]"
    station.sound()
    station.done("update")


def a_check_that_does_not_end(station, repository, word, nonce) -> None:
    # What ends in time is let end.
    patient = Package(word("mere"), "1", check=cases.script("sleep 11"))
    repository.offer(patient.file(f"opt/{patient.name}", nonce()))
    station.done("update")
    station.done(f"install {patient.name}")
    slow, beat = word("moor"), f"/run/bench/{nonce()}"
    check = cases.script(
        "trap '' HUP INT TERM", f"(while sleep 1; do echo >>{beat}; done) &",
        f"wget -q -O /dev/null {repository.mark(slow)}", "sleep 300", "sleep 300",
    )  # fmt: skip
    made = Package(slow, "1", check=check).file(f"opt/{slow}", slow)
    repository.offer(made)
    station.done("update")
    station.note()
    station.background(f"install {slow}")
    station.awaits(lambda: repository.marked(slow), 60, "a check of a package was to be run [R17]")
    try:
        assert slow not in station.versions(), "lade list tells of what is not decided [R18]"
        station.ends(f"files {slow}", 13, "it is not installed yet [R18]")
        ended = station.ended(15 + UNDONE)
    finally:
        repository.withdraw(slow)
    assert ended == 16, f"a check that does not end: {ended}, 16 was wanted [R17]"
    station.changed()
    first = station.say(f"wc -c <{beat}")
    station.say("sleep 3")
    assert station.say(f"wc -c <{beat}") == first, "the check was not stopped after 15 s [R17]"
    station.done("update")


def one_at_a_time(station, repository, own, word) -> None:
    slow = cases.package(word("tarn"), "1", "x" * 4000)
    other = cases.package(word("ness"), "1", "x")
    repository.offer(slow, other)
    station.done("update")
    before = station.versions()
    path = f"/{sorted(own['lade'].plain)[0]}"
    station.note()
    place = repository.place(slow.file_name)
    repository.slow = {place: (1, 3.0)}
    repository.asked.clear()
    station.background(f"install {slow.name}")
    try:
        station.awaits(lambda: place in repository.asked, 60, "a package was to be fetched [R9]")
        for words in (f"install {other.name}", "update", "upgrade", "remove cc", "rollback"):
            station.ends(words, 15, "another lade is at work, so at once [R18]", 10)
        said = station.versions()
        assert said == before, f"lade list does not tell of the state before [R18]: {said}"
        station.ends(f"files {slow.name}", 13, "it is not installed yet [R18]", 10)
        owner = station.asks(f"owner {path}")
        assert owner == ["lade"], f"lade owner {path} printed {owner}, lade was wanted [R18]"
        station.changed()
    finally:
        repository.calm()
    ended = station.ended(60)
    assert ended == 0, f"the first lade ended with {ended}, 0 was wanted [R18]"
    station.has_all(slow)


def lade_is_killed(station, repository, word, nonce, draw) -> None:
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
    station.awaits(
        lambda: repository.marked(old[0].name), 60, "a check of a package was to be run [R17]"
    )
    station.say("kill -9 -$(cat /run/bench/pid)")
    repository.let_go()
    station.lade(draw.choice(("list", "verify", "owner /etc/shadow", f"files {old[0].name}")))
    station.changed()
    said = station.versions()
    assert said == before, f"lade was killed while a check ran; lade list has {said} [R19]"
    station.sound()
    station.done("upgrade")
    station.has_all(*new)


def lade_is_killed_at_other_moments(station, repository, word, nonce, draw) -> None:
    old = Package(word("fir"), "1")
    for number in range(40):
        old.file(f"opt/{old.name}/{number % 7}/{number}", nonce() * draw.randrange(1, 300))
    late = old.but(version="2", entries={})
    for path in list(old.plain)[5:]:
        late.file(path, nonce() * draw.randrange(1, 300))
    late.file(f"opt/{old.name}/new/one", nonce())
    repository.offer(old)
    station.done("update")
    station.done("upgrade")
    began = time.monotonic()
    station.done(f"install {old.name}")
    took = time.monotonic() - began
    repository.offer(late)
    station.done("update")
    before, rounds = station.digest(), 4
    for number in range(rounds):
        station.say("rm -f /run/bench/pid")
        station.background("upgrade")
        station.say("until test -s /run/bench/pid; do sleep 0.1; done")
        time.sleep(took * (number + draw.random()) / rounds)
        station.run("kill -9 -$(cat /run/bench/pid)")
        station.lade(draw.choice(("list", "verify", "owner /etc/shadow", f"files {old.name}")))
        station.sound()
        if station.versions().get(old.name) == "2":
            break
        assert station.digest() == before, (
            "lade was killed, and the next lade has brought the files neither to the state before "
            "nor, as lade list says, to the one after [R19]"
        )
    station.done("upgrade")
    station.has_all(late)
    gone = [path for path in list(old.plain)[:5] if station.has(path)]
    assert not gone, f"files of the version before are there still [R10, R19]: {gone}"


def there_is_no_room(station, repository, word, nonce) -> None:
    name = word("oak")
    made = Package(name, "1")
    for number in range(30):
        made.file(f"opt/{name}/{number}", nonce() * 1000)
    repository.offer(made)
    station.done("update")
    station.note()
    station.run("dd if=/dev/zero of=/root/fill bs=64k 2>/dev/null; sync", 120)
    station.refuses(f"install {name}", 18, "the disk is full [R20]")
    station.say("rm /root/fill; sync")
    # Of what root may use, which is more than others may.
    station.run(
        "n=$(($(stat -f -c '%f*%S' /) / 65536 - 6)); "
        "dd if=/dev/zero of=/root/fill bs=64k count=$n 2>/dev/null; sync", 120
    )  # fmt: skip
    station.refuses(f"install {name}", 18, "384 KiB are free, and 940 are needed [R20]")
    station.say("rm /root/fill; sync")
    station.done(f"install {name}")
    station.has_all(made)


def the_disk_is_full_when_a_check_fails(station, repository, word, nonce) -> None:
    old, new = cases.family(word, nonce)
    repository.offer(*old)
    station.done("update")
    station.done(f"install {old[0].name} {old[1].name}")
    before = station.versions()
    new[1].check = cases.script(
        "dd if=/dev/zero of=/root/fill bs=64k 2>/dev/null", "sync", "exit 1"
    )
    repository.offer(*new)
    station.done("update")
    station.note()
    try:
        station.refuses("upgrade", 16, CHECK_FAILED)
        said = station.versions()
    finally:
        repository.withdraw(*(package.name for package in new))
    station.say("rm -f /root/fill; sync")
    assert said == before, f"undone on a full disk, lade list has {said} [R20]"
    station.sound()
    station.done("update")

"""Demands of configuration files, scripts, accounts, questions, going back and being cut short."""

from __future__ import annotations

import secrets

import versions
from bench import Bench
from ordered import WORD, verb

ENDED = "ended with"


# -- configuration files --------------------------------------------------------------------------


def config_files(bench: Bench) -> None:
    first, second, third = versions.rising(bench.draw, 3)
    name = bench.word("conf")
    paths = [f"etc/{name}/{what}" for what in ("kept", "changed", "deleted", "same", "there")]

    def made(version: str, same: str):
        one = bench.package(name, version)
        for path in paths:
            one.conf(path, same if path.endswith("same") else bench.text())
        return one

    same = bench.text()
    one = made(first, same)
    bench.folder(f"/etc/{name}")
    bench.edit(f"/{paths[4]}", bench.text())
    bench.refresh(one)
    bench.do("install", name)
    for path, text in ((paths[1], bench.text()), (paths[2], None), (paths[3], bench.text())):
        bench.edit(f"/{path}", text)
    bench.refresh(made(second, same))
    bench.do("upgrade")
    bench.refresh(made(third, same))
    bench.do("upgrade")


def config_saved(bench: Bench) -> None:
    first, second = versions.rising(bench.draw, 2)
    name = bench.word("save")
    paths = [f"etc/{name}.{what}" for what in ("changed", "plain", "early")]
    one = bench.package(name, first)
    for path in paths:
        one.conf(path, bench.text())
    bench.refresh(one)
    bench.do("install", name)
    bench.edit(f"/{paths[2]}", bench.text())
    later = one.but(version=second, config=paths[:2])
    del later.entries[paths[2]]
    bench.refresh(later)
    bench.do("upgrade")
    bench.edit(f"/{paths[0]}", bench.text())
    bench.do("remove", name)


# -- scripts, accounts ----------------------------------------------------------------------------


def after_script(bench: Bench) -> None:
    mark = f"/var/marks/{bench.word('order')}"
    names = [bench.word(letter) for letter in "bca"]
    first, second = versions.rising(bench.draw, 2)
    bad = bench.word("fails")

    def made(at: int, version: str):
        script = (
            f'#!/bin/sh -e\n[ "$(pwd)" = / ]\n[ -s /opt/{names[0]}/data ]\n'
            f'echo "{names[at]} $*" >> {mark}\n'
        )
        one = bench.package(names[at], version, needs=names[at + 1 : at + 2], mark=mark)
        one.after = script.encode()
        return one

    bench.refresh(*(made(at, first) for at in range(3)))
    bench.do("install", names[0])
    bench.refresh(*(made(at, second) for at in range(3)))
    bench.do("upgrade")
    failing = bench.package(bad, needs=[names[0]])
    failing.after = b"#!/bin/sh\nexit 3\n"
    good = bench.package(bench.word("good"))
    bench.refresh(failing, good)
    bench.do("install", good.name, bad, what="a script of it fails")


def triggers(bench: Bench) -> None:
    place = f"srv/{bench.word('fonts')}"
    cache = bench.package(bench.word("cache"), trigger=[place])
    cache.triggered = f"#!/bin/sh\necho x >> /var/marks/t-{cache.name}\n".encode()
    two = [bench.package(bench.word("font")) for _ in range(2)]
    for one in two:
        one.file(f"{place}/{one.name}", bench.text())
    beside = bench.package(bench.word("no-font")).file(f"{place}-else/x", bench.text())
    bench.refresh(cache, beside, *two)
    bench.do("install", cache.name)
    bench.do("install", two[0].name, two[1].name, what="two packages, and one run of a trigger")
    bench.do("install", beside.name)
    bench.do("remove", two[0].name)


def accounts(bench: Bench) -> None:
    name, word = bench.word("d"), bench.word("mail")
    one = bench.package(word, accounts=[name, f"{name}x"]).file(f"srv/{word}/in", bench.text())
    one.owned = {f"srv/{word}/in": name}
    bench.refresh(one)
    bench.do("install", word)
    number = bench.model.numbers[name]
    rows = bench.station.run("cat /etc/passwd /etc/group")[1].splitlines()
    for wanted in (f"{name}:x:{number}:{number}::/:/bin/false", f"{name}:x:{number}:"):
        assert wanted in rows, f"there is no line {wanted!r} in /etc/passwd or /etc/group"
    bench.do("remove", word)
    other = bench.package(bench.word("later"), accounts=[bench.word("e")])
    other.file("srv/later", bench.text())
    other.owned = {"srv/later": other.accounts[0]}
    bench.refresh(other)
    bench.do("install", other.name, word)


# -- questions ------------------------------------------------------------------------------------


def owner(bench: Bench) -> None:
    one = bench.package(bench.word("own")).link("opt/own-link", "nowhere").folder("opt/own-folder")
    bench.refresh(one)
    bench.do("install", one.name)
    for path in (f"/opt/{one.name}/data", "/opt/own-link", f"/opt/{one.name}", "/etc/passwd"):
        bench.do("owner", path)


def verify(bench: Bench) -> None:
    one = bench.package(bench.word("true")).link("opt/true-link", "a")
    for at in range(4):
        one.file(f"opt/{one.name}/{at}", bench.text())
    bench.refresh(one)
    bench.do("install", one.name)
    bench.do("verify")
    top = f"/opt/{one.name}"
    bench.edit(f"{top}/0", None)
    bench.edit(f"{top}/1", bench.text())
    bench.station.run(f"chmod 600 {top}/2; chown 7:7 {top}/3; ln -sfn b /opt/true-link")
    nodes = bench.model.files
    nodes[f"{top}/2"] = (*nodes[f"{top}/2"][:1], 0o600, *nodes[f"{top}/2"][2:])
    nodes[f"{top}/3"] = (*nodes[f"{top}/3"][:2], 7, 7, nodes[f"{top}/3"][4])
    nodes["/opt/true-link"] = (*nodes["/opt/true-link"][:4], "b")
    bench.do("verify")
    bench.do("remove", one.name)


# -- going back, being cut short: `silent` but for the first two -----------------------------------


def sweep(bench: Bench) -> None:
    low, mid = bench.package(bench.word("low")), bench.word("mid")
    middle = bench.package(mid, needs=[low.name])
    top = bench.package(bench.word("high"), needs=[mid])
    asked = bench.package(bench.word("asked"))
    user = bench.package(bench.word("user"), needs=[asked.name])
    bench.refresh(low, middle, top, asked, user)
    bench.do("install", top.name, user.name)
    bench.do("sweep")
    bench.do("install", asked.name)
    bench.do("remove", top.name, user.name)
    bench.do("sweep")


def rollback(bench: Bench) -> None:
    first, second = versions.rising(bench.draw, 2)
    one, other = bench.word("back"), bench.word("forth")
    kept = bench.package(one, first).file(f"srv/{one}/only-before", bench.text())
    bench.refresh(kept.link(f"opt/{one}/link", "there"))
    bench.do("install", one)
    bench.refresh(
        bench.package(one, second, needs=[other]).file(f"srv/{one}.d/after", bench.text()),
        bench.package(other),
    )
    bench.do("upgrade")
    bench.do("rollback")
    bench.do("rollback", what="right after another one")
    bench.do("remove", one)
    bench.do("list")
    bench.do("rollback")
    bench.do("upgrade")


def one_at_a_time(bench: Bench) -> None:
    one, other = bench.package(bench.word("slow")), bench.package(bench.word("quick"))
    bench.refresh(one, other)
    path = bench.repositories.path_of(one)
    bench.repositories.held = {path}
    bench.repositories.asked.clear()
    line = f"{WORD} {verb('install')} {one.name}"
    bench.station.run(f"({line}; echo $? > /run/first) > /dev/null 2>&1 < /dev/null &")
    waits = bench.station.machine.deadline(60)
    while not bench.repositories.fetched(one):
        assert waits.remaining() > 0, f"{line} asked for nothing in 60 seconds"
        bench.station.run("sleep 0.3")
    try:
        bench.refused("busy", "install", other.name, what="while another one fetches")
    finally:
        bench.repositories.calm()
    status = bench.station.run(
        "for i in $(seq 120); do [ -s /run/first ] && break; sleep 0.5; done; cat /run/first", 90
    )[1]
    assert status.strip() == "0", f"the first of two {ENDED} {status.strip() or 'nothing'}"
    bench.station.run("rm /run/first")
    bench.model.do("install", one.name)
    bench.same("two at a time")
    bench.do("install", other.name)


def killed(bench: Bench) -> None:
    first, second = versions.rising(bench.draw, 2)
    name = bench.word("many")
    for round_, at in enumerate((0, 60, bench.draw.randrange(10, 110))):
        one = bench.package(name, (first, second)[round_ % 2])
        for number in range(120):
            one.file(f"opt/{name}/{round_}-{number:03}", bench.text())
        bench.refresh(one)
        before = bench.model
        word = "upgrade" if name in before.installed else "install"
        if word == "upgrade" and round_ == 2:
            bench.do("remove", name)
            before, word = bench.model, "install"
        names = (name,) if word == "install" else ()
        after = bench.later(lambda model, w=word, n=names: model.do(w, *n))
        seen = f"/opt/{name}/{round_}-{at:03}"
        bench.station.run(
            f"setsid {WORD} {verb(word)} {' '.join(names)} > /dev/null 2>&1 < /dev/null & pid=$!\n"
            f"while [ ! -e {seen} ] && [ -d /proc/$pid ]; do :; done; kill -9 -$pid; wait $pid; "
            "true",
            120,
        )
        bench.either(before, after, f"killed when {seen} was there")
        bench.do("list")


def power_cut(bench: Bench) -> None:
    one = bench.package(bench.word("flush")).file("srv/flush", secrets.token_bytes(20_000))
    name = bench.word("cut")
    many = bench.package(name)
    for number in range(120):
        many.file(f"opt/{name}/{number:03}", bench.text())
    bench.refresh(one, many)
    status, _ = bench.ask("install", one.name)
    bench.station.machine.power_cut()
    assert status == 0, f"{WORD} {verb('install')} {ENDED} {status}"
    bench.model.do("install", one.name)
    bench.station.start()
    bench.same("the power was cut the moment after it had ended with 0")
    before = bench.model
    after = bench.later(lambda model: model.do("install", name))
    seen = f"/opt/{name}/{bench.draw.randrange(5, 100):03}"
    bench.station.run(
        f"setsid {WORD} {verb('install')} {name} > /dev/null 2>&1 < /dev/null & pid=$!\n"
        f"while [ ! -e {seen} ] && [ -d /proc/$pid ]; do :; done; sync; true",
        120,
    )
    bench.station.machine.power_cut()
    bench.station.start()
    bench.either(before, after, f"the power was cut when {seen} was there")


def full_disk(bench: Bench) -> None:
    small = bench.package(bench.word("small"))
    big = bench.package(bench.word("big"))
    for number in range(12):
        big.file(f"opt/{big.name}/{number:02}", secrets.token_bytes(100_000))
    bench.refresh(small, big)
    free = int(bench.station.run("df -Pk / | tail -n 1")[1].split()[3])
    bench.station.run(f"fallocate -l {(free - 700) * 1024} /root/room; sync", 120)
    try:
        bench.refused("no_room", "install", small.name, big.name, what="on a full disk")
    finally:
        bench.station.run("rm -f /root/room; sync", 60)
    bench.do("install", small.name)


def in_the_way(bench: Bench) -> None:
    one, other = bench.package(bench.word("first")), bench.package(bench.word("second"))
    shared = f"srv/{one.name}"
    one.file(shared, bench.text())
    other.file(shared, bench.text())
    stray = bench.package(bench.word("stray")).file("srv/stray", bench.text())
    bench.refresh(one, other, stray)
    bench.do("install", one.name, other.name)
    bench.do("install", one.name)
    bench.do("install", other.name, what="a file of it is another package's")
    bench.edit("/srv/stray", bench.text())
    bench.do("install", stray.name, what="a file of it is there, and nobody's")
    bench.do("remove", one.name)
    bench.do("install", other.name)

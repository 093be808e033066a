"""Demands of the way to the repository, and of what packages say of each other."""

from __future__ import annotations

import secrets

import versions
from bench import Bench
from ordered import AXES

# -- the way to the repository: without these no index, or no package, comes ----------------------


def token(bench: Bench) -> None:
    repositories = bench.repositories
    held, repositories.token = repositories.token, secrets.token_hex(10)
    bench.publish()
    bench.refused("unreachable", "update", what="the repository has another token")
    bench.station.configure(repositories.conf())
    bench.do("update", what="the configuration has another token")
    repositories.token = held
    bench.station.configure(repositories.conf())


def moved(bench: Bench) -> None:
    bench.refresh(bench.package(bench.word("nomad")))


def packed_index(bench: Bench) -> None:
    many = [bench.package(bench.word("many")) for _ in range(20)]
    bench.refresh(*many)
    bench.do("install", many[7].name)
    bench.repositories.withdraw(*(one.name for one in many))


def pool(bench: Bench) -> None:
    one = bench.package(bench.word("pool"))
    bench.refresh(one)
    bench.do("install", one.name)


def pieces(bench: Bench) -> None:
    size = int(AXES["piece"])
    one = bench.package(bench.word("large")).file("srv/large", secrets.token_bytes(3 * size + 7))
    bench.refresh(one)
    bench.do("install", one.name)


# -- fetching -------------------------------------------------------------------------------------


def serial(bench: Bench) -> None:
    bench.refresh(bench.package(bench.word("new")))
    held = bench.repositories.serial
    bench.repositories.serial -= bench.draw.randrange(2, 20)
    bench.publish()
    bench.refused("distrusted", "update", what="an index with a lower serial, signed well")
    bench.repositories.serial = held - 1
    bench.publish()
    bench.do("update", what="the same serial")
    bench.repositories.serial = held + 5


def stalls(bench: Bench) -> None:
    one = bench.package(bench.word("still")).file("srv/still", secrets.token_bytes(3000))
    bench.refresh(one)
    bench.repositories.stalled = {bench.repositories.path_of(one): 500}
    seconds = int(AXES["patience"])
    deadline = bench.station.machine.deadline(3 * seconds + 30)
    bench.refused("unreachable", "install", one.name, what="the line falls silent", seconds=120)
    late = f"it waited more than {3 * seconds + 30} seconds on a line that is silent"
    assert deadline.remaining() > 0, late
    bench.repositories.calm()
    bench.do("install", one.name)


def resume(bench: Bench) -> None:
    one = bench.package(bench.word("rest")).file("srv/rest", secrets.token_bytes(3000))
    bench.refresh(one)
    path, repositories = bench.repositories.path_of(one), bench.repositories
    repositories.cut = {path: 900}
    bench.refused("unreachable", "install", one.name, what="the line ends after 900 bytes")
    repositories.calm()
    repositories.asked.clear()
    bench.do("install", one.name)
    starts = [start for asked, start in repositories.asked if asked == path]
    assert starts == [900], f"the rest of a file was asked for from byte {starts}, not [900]"


def priorities(bench: Bench) -> None:
    first, second = versions.rising(bench.draw, 2)
    both = bench.word("both")
    only = bench.package(bench.word("only"), repository=1)
    top = bench.package(bench.word("across"), needs=[only.name])
    bench.refresh(bench.package(both, first), bench.package(both, second, repository=1), only, top)
    bench.do("install", both, top.name)
    bench.do("upgrade")
    folder = bench.repositories.folders[1]
    held = dict(bench.repositories.files)
    bench.publish()
    bench.repositories.place_index(folder, b"", secrets.token_bytes(32))
    bench.refused("distrusted", "update", what="the second repository is not ours")
    bench.repositories.files = held
    bench.publish()


# -- what packages say of each other --------------------------------------------------------------


def needs_with_versions(bench: Bench) -> None:
    low, mid, high = versions.rising(bench.draw, 3)
    base = bench.word("ground")
    bench.refresh(bench.package(base, low))
    bench.do("install", base)
    over = bench.package(bench.word("over"), needs=[f"{base}>={mid}"])
    under = bench.package(bench.word("under"), needs=[f"{base}<{mid}"])
    exact = bench.package(bench.word("exact"), needs=[f"{base}={high}"])
    bench.refresh(over, under, exact)
    bench.do("install", over.name, what="no version of what it needs is late enough")
    bench.do("install", under.name)
    bench.refresh(bench.package(base, mid))
    bench.do("install", over.name, what="what is installed does not go with a later version")
    bench.do("remove", under.name)
    bench.do("install", over.name, what="what it needs is installed, and too old")
    bench.do("install", under.name, what="what it needs is too new")
    bench.refresh(bench.package(base, high))
    bench.do("install", exact.name)


def provides(bench: Bench) -> None:
    role, names = bench.word("role"), sorted(bench.word("actor") for _ in range(3))
    actors = [bench.package(name, provides=[role]) for name in names]
    one, other = (bench.package(bench.word("play"), needs=[role]) for _ in range(2))
    bench.refresh(*actors, one, other)
    bench.do("install", other.name, names[2], what="what is named with it plays the role")
    bench.do("install", one.name)
    bench.do("remove", names[2], what="nobody else plays the role")
    bench.do("remove", one.name, other.name, names[2])
    bench.do("install", one.name, what="the first by name plays the role")
    bench.do("install", names[1])
    bench.do("remove", names[0], what="another one plays the role")


def alternatives(bench: Bench) -> None:
    a, b, c = (bench.package(bench.word(letter)) for letter in "zyx")
    missing = bench.word("missing")
    one = bench.package(bench.word("either"), needs=[f"{missing}|{a.name}|{b.name}"])
    two = bench.package(bench.word("either"), needs=[f"{b.name}|{c.name}"])
    bench.refresh(a, b, c, one, two)
    bench.do("install", one.name, what="the first that there is comes")
    bench.do("install", c.name)
    bench.do("install", two.name, what="what is installed is enough")
    bench.do("remove", c.name)
    bench.do("install", b.name)
    bench.do("remove", c.name)


def conflicts(bench: Bench) -> None:
    one = bench.package(bench.word("oil"))
    other = bench.package(bench.word("water"), conflicts=[one.name])
    need = bench.package(bench.word("pan"), needs=[other.name])
    bench.refresh(one, other, need)
    bench.do("install", one.name, other.name)
    bench.do("install", one.name)
    bench.do("install", need.name, what="what it needs excludes what is installed")
    bench.do("remove", one.name)
    bench.do("install", other.name)
    bench.do("install", one.name, what="what is installed excludes it")


def replaces(bench: Bench) -> None:
    old, heir = bench.word("former"), bench.word("heir")
    shared = f"srv/{old}/shared"
    bench.refresh(bench.package(old).file(shared, bench.text()).file(f"srv/{old}/x", "x"))
    bench.do("install", old)
    user = bench.package(bench.word("user"), needs=[old])
    new = bench.package(heir, replaces=[old]).file(shared, bench.text())
    bench.refresh(new, user)
    bench.do("install", user.name)
    bench.do("install", heir, what="what it replaces is needed")
    bench.do("remove", user.name)
    bench.do("install", heir)
    bench.do("list")


def holds(bench: Bench) -> None:
    first, second = versions.rising(bench.draw, 2)
    one, other = bench.word("held"), bench.word("free")
    bench.refresh(bench.package(one, first), bench.package(other, first))
    bench.do("hold", one)
    bench.do("install", one, other)
    bench.do("hold", one)
    bench.refresh(bench.package(one, second), bench.package(other, second))
    bench.do("upgrade")
    bench.do("remove", one)
    bench.do("release", other)
    bench.do("release", one)
    bench.do("upgrade")

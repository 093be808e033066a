"""What comes with an installation, and what does not."""

from __future__ import annotations

from form import Package
from station import lines


def what_is_installed_is_what_the_package_says(station, repository, word, nonce) -> None:
    name = word("snow")
    package = Package(name, "2.0.1", needs=["busybox>=1.35", "libc"])
    package.file(f"usr/bin/{name}", f"#!/bin/sh\necho {nonce()} $(($1 * 3))\n", 0o755)
    package.file(f"usr/share/{name}/a b/c!d", nonce() * 4000, 0o4751, 7, 12)
    package.file(f"usr/share/{name}/empty", b"", 0o600, 1000, 5)
    package.file(f"usr/share/{name}/bin", bytes(range(256)) * 9, 0o2640)
    package.dir(f"opt/{name}/open", 0o1777, 3, 4).dir(f"opt/{name}/shut", 0o700)
    package.link(f"opt/{name}/way", f"../{name}/open").link(f"opt/{name}/none", "/no/such place")
    repository.offer(package)
    station.done("update")
    there = [top for top in ("usr", "usr/bin", "usr/share", "opt") if station.has(top)]
    station.note()
    station.done(f"install {name}")
    station.changed(come=lines({p: e for p, e in package.entries.items() if p not in there}))
    assert station.versions()[name] == "2.0.1"
    said = station.say(f"{name} 14").split()
    assert said[1] == "42" and said[0].encode() in package.entries[f"usr/bin/{name}"].data
    assert station.asks(f"files {name}") == [f"/{path}" for path in sorted(package.plain)]
    assert station.asks(f"owner /opt/{name}/way") == [name]
    station.sound()


def what_is_needed_comes_and_nothing_else(station, repository, word, shared) -> None:
    a, b, c, d, e = (word(stem) for stem in ("ice", "bank", "cove", "dune", "elder"))
    first = {
        a: Package(a, "1.0", needs=[f"{b}>=1.9", c]).file(f"opt/{a}", a),
        b: Package(b, "1.10", needs=[d]).file(f"opt/{b}", b),
        c: Package(c, "3", needs=[d]).file(f"opt/{c}", c),
        d: Package(d, "7.0.0.1").file(f"opt/{d}", d),
        e: Package(e, "1").file(f"opt/{e}", e),
    }
    repository.offer(*first.values())
    station.done("update")
    repository.asked.clear()
    station.done(f"install {a}")
    assert repository.fetched() == sorted(first[name].file_name for name in (a, b, c, d))
    assert {name: v for name, v in station.versions().items() if name in first} == {
        name: first[name].version for name in (a, b, c, d)
    }
    # What is new enough stays; what is too old for a need is upgraded.
    later = [
        first[b].but(version="1.11"),
        first[c].but(version="3.0.0.1"),
        first[d].but(version="6.9"),
        first[e].but(version="2", needs=[f"{c}>=3.0.0.1", f"{d}>=7", f"{b}>=1.9.9"]),
    ]
    repository.offer(*later)
    station.done("update")
    repository.asked.clear()
    station.done(f"install {e} {d} {a}")
    assert repository.fetched() == sorted([later[1].file_name, later[3].file_name])
    versions = station.versions()
    assert [versions[name] for name in (a, b, c, d, e)] == [
        "1.0",
        "1.10",
        "3.0.0.1",
        "7.0.0.1",
        "2",
    ]
    shared["needs"] = (a, b, c, d, e)


def checks_are_run_after_those_of_what_is_needed(station, repository, word, nonce) -> None:
    names = sorted((word("w") for _ in range(4)), reverse=True)
    secret = nonce()
    for at, name in enumerate(names):
        there = " && ".join(f"test -e opt/{n}.{secret}" for n in (names[0], names[-1]))
        script = f"#!/bin/sh\n{there} || exit 1\necho {at} >>/run/bench/{secret}\n"
        made = Package(name, "1", check=script.encode(), needs=names[:at][-1:])
        repository.offer(made.file(f"opt/{name}.{secret}", name))
    station.done("update")
    station.done(f"install {names[2]} {names[3]}")
    assert station.say(f"cat /run/bench/{secret}").split() == ["0", "1", "2", "3"]
    station.done(f"install {names[0]}")
    station.done(f"remove {names[3]}")
    assert len(station.say(f"cat /run/bench/{secret}").split()) == 4, "a check was run once more"

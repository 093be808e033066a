"""What comes with an installation, and what does not."""

from __future__ import annotations

from shlex import quote

from form import Package
from station import lines


def what_is_installed_is_what_the_package_says(station, repository, own, word, nonce) -> None:
    name = word("snow")
    package = Package(name, "2.0.1", needs=[f"busybox>={own['busybox'].version}", "libc"])
    package.file(f"usr/bin/{name}", f"#!/bin/sh\necho {nonce()} $(($1 * 3))\n", 0o755)
    package.file(f"usr/share/{name}/a b/c!d", nonce() * 4000, 0o4751, 7, 12)
    package.file(f"usr/share/{name}/empty", b"", 0o600, 1000, 5)
    package.file(f"usr/share/{name}/bin", bytes(range(256)) * 9, 0o2640)
    package.dir(f"opt/{name}/open", 0o1777, 3, 4).dir(f"opt/{name}/shut", 0o700)
    package.link(f"opt/{name}/way", f"../{name}/open").link(f"opt/{name}/none", "/no/such place")
    package.config(f"etc/{name}.conf", nonce(), 0o640).file(f"var/bench/{name}", nonce(), 0o600)
    # As long as they may be, and all signs that there may be.
    package.file(f"opt/{name}/{'p' * (84 - len(name))}", "long").link(f"opt/{name}/far", "t" * 100)
    odd = f"opt/{name}/-e \"$(id)`*?[a-z]\\t%s#;&|<>~=@^!'{{}}"
    package.file(odd, nonce())
    # A folder that is there stays as it is, whatever the package says of it.
    station.say(f"mkdir -p /opt/{name}/there && chmod 711 /opt/{name}/there")
    package.dir(f"opt/{name}/there", 0o750, 9, 9).file(f"opt/{name}/there/x", "x")
    repository.offer(package)
    station.done("update")
    tops = (
        "usr", "usr/bin", "usr/share", "opt", f"opt/{name}", f"opt/{name}/there", "etc", "var",
        "var/bench",
    )  # fmt: skip
    there = [top for top in tops if station.has(top)]
    station.note()
    station.done(f"install {name}")
    station.changed(come=lines({p: e for p, e in package.entries.items() if p not in there}))
    versions = station.versions()
    assert versions.get(name) == "2.0.1", f"lade list has {name} {versions.get(name)}, not 2.0.1"
    said = station.say(f"/usr/bin/{name} 14").split()
    assert said[1:] == ["42"] and said[0].encode() in package.entries[f"usr/bin/{name}"].data, (
        f"the installed program printed {said}"
    )
    files = station.asks(f"files {name}")
    assert files == [f"/{path}" for path in sorted(package.plain)], f"lade files [R25]: {files}"
    owner = station.asks(f"owner /opt/{name}/way")
    assert owner == [name], f"lade owner /opt/{name}/way [R25]: {owner}"
    owner = station.asks(f"owner {quote('/' + odd)}")
    assert owner == [name], f"lade owner {quote('/' + odd)} [R25]: {owner}"
    station.sound()
    # Of a configuration file the content may be another, and nothing else.
    conf = f"/etc/{name}.conf"
    station.say(f"echo >>/usr/share/{name}/empty; ln -sfn /opt /opt/{name}/none; chmod 604 {conf}")
    station.say(f"rm {quote('/' + odd)}; echo ours >{conf}")
    found = station.asks("verify", 1)
    wanted = [
        f"changed {conf}", f"missing /{odd}", f"changed /opt/{name}/none",
        f"changed /usr/share/{name}/empty",
    ]  # fmt: skip
    assert found == wanted, f"lade verify printed {found}, {wanted} was wanted [R26]"
    station.say(f": >/usr/share/{name}/empty; ln -sfn '/no/such place' /opt/{name}/none")
    data = package.entries[odd].data.decode()
    station.say(f"chmod 640 {conf}; printf %s {data} >{quote('/' + odd)}")
    station.sound()


def what_is_needed_comes_and_nothing_else(station, repository, word) -> None:
    # Names that begin as another one does, and one whose end may be taken for a version.
    a, e = word("ice"), word("elder")
    b, c, d = f"{a}-b", f"{a}+", f"{a}-7"
    first = {
        a: Package(a, "1.0", needs=[f"{b}>=1.9", c]).file(f"opt/{a}", a),
        b: Package(b, "1.10", needs=[d]).file(f"opt/{b}", b),
        c: Package(c, "3", needs=[d]).file(f"opt/{c}", c),
        d: Package(d, "7.0.0.1").file(f"opt/{d}", d),
        e: Package(e, "1").file(f"opt/{e}", e),
    }

    def stand(*wanted: str) -> None:
        versions = station.versions()
        found = {name: versions.get(name) for name in first}
        told = dict(zip(first, [*wanted, None], strict=False))
        assert found == told, f"installed are {found}, and {told} was wanted [R9]"

    def came(*packages: Package) -> None:
        fetched, wanted = repository.fetched(), sorted(package.file_name for package in packages)
        assert fetched == wanted, f"fetched {fetched}; {wanted} was wanted [R9]"

    repository.offer(*first.values())
    station.done("update")
    repository.asked.clear()
    station.done(f"install {a}")
    came(*(first[name] for name in (a, b, c, d)))
    stand("1.0", "1.10", "3", "7.0.0.1")
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
    came(later[1], later[3])
    stand("1.0", "1.10", "3.0.0.1", "7.0.0.1", "2")
    # Who is named is wanted as the index has it.
    repository.asked.clear()
    station.done(f"install {b}")
    came(later[0])
    stand("1.0", "1.11", "3.0.0.1", "7.0.0.1", "2")
    # What is there meets a need, be it in the index or not.
    heir = Package(word("fjord"), "1", needs=[f"{d}>=7.0"]).file(f"opt/{a}.heir", a)
    repository.withdraw(d)
    repository.offer(heir)
    station.done("update")
    repository.asked.clear()
    station.done(f"install {heir.name}")
    came(heir)


def checks_are_run_after_those_of_what_is_needed(station, repository, word, nonce) -> None:
    names = sorted((word("w") for _ in range(4)), reverse=True)
    secret = nonce()
    awk = station.say("command -v awk")
    for at, name in enumerate(names):
        there = " && ".join(f"test -e opt/{n}.{secret}" for n in (names[0], names[-1]))
        script = f"#!/bin/sh\n{there} || exit 1\necho {at} >>/run/bench/{secret}\n"
        if at == 1 and awk.startswith("/"):  # a program need not be the shell's
            told = f'if (system("{there}")) exit 1; print {at} >>"/run/bench/{secret}"'
            script = f"#!{awk} -f\nBEGIN {{ {told} }}\n"
        made = Package(name, "1", check=script.encode(), needs=names[:at][-1:])
        repository.offer(made.file(f"opt/{name}.{secret}", name))
    station.done("update")
    station.done(f"install {names[2]} {names[3]}")
    ran = station.run(f"cat /run/bench/{secret}").stdout.split()
    assert ran == ["0", "1", "2", "3"], f"checks were run in the order {ran}, not 0 1 2 3 [R17]"
    station.done(f"install {names[0]}")
    station.done(f"remove {names[3]}")
    ran = station.say(f"cat /run/bench/{secret}").split()
    assert len(ran) == 4, f"a check was run at another time than an installation [R17]: {ran}"

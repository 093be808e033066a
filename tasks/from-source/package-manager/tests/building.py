"""Recipes."""

from __future__ import annotations

import hashlib

import cases
import form
import tides
from form import Package

RECIPE = "usr/src/recipes/tide"


def recipe(station, folder: str, files: dict[str, bytes], sources: list[str], meta: bytes) -> None:
    """Put a recipe on the station."""
    station.say(f"rm -rf '{folder}'; mkdir -p '{folder}'")
    for name in sources:
        digest = hashlib.sha256(files[name]).hexdigest()
        meta += f"source={name} {digest}\n".encode()
    for name, data in {"recipe": meta, **files}.items():
        station.machine.shell.write_file(f"{folder}/{name}", data)


def built(station, folder: str, out: str, package: Package, before: str = "") -> bytes:
    station.say(f"rm -rf '{out}'; mkdir -p '{out}'")
    said = station.run(f"{before}lade build '{folder}' '{out}'", 120)
    assert said.status == 0, f"lade build ended with {said.status}: {said.stdout[-300:]!r} [R27]"
    there = station.say(f"ls -A '{out}'")
    assert there == package.file_name, f"OUT has {there!r}, not {package.file_name} [R27]"
    return station.machine.shell.read_file(f"{out}/{package.file_name}", limit=4 << 20)


def left(station) -> set[str]:
    """What lies where builds may leave something, and no package looks."""
    found = station.run("find /tmp /root /var /run -xdev ! -path '/run/bench*'").stdout.splitlines()
    return {path for path in found if not path.startswith("/var/lib/lade/")}


def state_kib(station) -> int:
    return int(station.say("du -sk /var/lib/lade").split()[0])


# What a build finds, said by itself: each line fails the build when it is not so.
FINDS = """test "$PATH" = /usr/sbin:/usr/bin:/sbin:/bin
test "$LC_ALL$HOME" = C/
test "$(umask)" = 0022
names=$(env | sed 's/=.*//' | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _ | sort | tr '\\n' .)
test "$names" = DEST.HOME.LC_ALL.PATH.
test "$(ls -A | tr '\\n' .)" = one.conf.run.
test -z "$(ls -A "$DEST")"
! read -r line
"""


def a_recipe_of_data(station, word, nonce) -> None:
    name = word("alder")
    package = Package(name, "0.10.2", needs=["busybox", "libc>=1.2"], conflicts=[word("x")])
    package.config(f"etc/{name}.conf", f"{nonce()}\n", 0o640).link(f"opt/{name}/l", "some where")
    package.file(f"opt/{name}/run", f"#!/bin/sh\n{nonce()}\n", 0o4755).dir(
        f"opt/{name}/empty", 0o700
    )
    package.file(f"opt/{name}/B c", "umask").file(f"opt/{name}/a.c", b"").dir(f"opt/{name}/a")
    package.file(f"opt/{name}/a/x", "-").file(f"opt/{name}/a/y", "-")
    package.check = cases.script("exit 0")
    files = {
        "one.conf": package.entries[f"etc/{name}.conf"].data,
        "run": package.entries[f"opt/{name}/run"].data, "check": package.check,
        "unnamed": b"not a source",
        "build": (
            f"{FINDS}cd \"$DEST\"\n"
            f"mkdir -p etc opt/{name}/a opt/{name}/empty\nchmod 700 opt/{name}/empty\n"
            f"cp \"$OLDPWD/one.conf\" etc/{name}.conf\n"
            f"chmod 640 etc/{name}.conf\nchown 5:6 etc/{name}.conf\n"
            f"cp \"$OLDPWD/run\" opt/{name}/run\nchmod 4755 opt/{name}/run\n"
            f"printf umask >'opt/{name}/B c'\n: >opt/{name}/a.c\nprintf - >opt/{name}/a/x\n"
            f"ln -s 'some where' opt/{name}/l\nln opt/{name}/a/x opt/{name}/a/y\n"
        ).encode(),
    }  # fmt: skip
    recipe(station, "/root/it is", files, ["one.conf", "run"], package.meta())
    station.note()
    before, size = left(station), state_kib(station)
    strange = "export BENCH=1 LC_ALL=xx PATH=$PATH:/nowhere; umask 077; "
    first = built(station, "/root/it is", "/run/bench/o 1", package, strange)
    read = form.read(first, "what was built")
    told = {**read.entries, **package.entries}
    differ = [p for p in told if read.entries.get(p) != package.entries.get(p)]
    assert not differ, f"entries that are not what the build left in DEST [R28]: {differ}"
    assert first == package.pack(), "META or CHECK are not those of the recipe [R28]"
    station.changed()
    more = sorted(left(station) - before)
    assert not more, f"lade build left {more[:5]} [R27]"
    assert state_kib(station) - size <= 16, "lade build left something below /var/lib/lade [R27]"


def a_recipe_of_a_program(station, repository, word, nonce) -> None:
    name, one, two = word("birch"), nonce()[:12], nonce()
    package = Package(name, "1", needs=["libc"])
    source = (
        "#include <stdio.h>\nint main(int c, char **v)\n{\n"
        f'  printf("%llx %s\\n", 0x{one}ULL ^ (unsigned)c, "{two}");\n  return 0;\n}}\n'
    )
    files = {
        "p.c": source.encode(),
        "build": f'mkdir -p "$DEST/usr/bin"\ncc -o "$DEST/usr/bin/{name}" p.c\n'.encode(),
    }
    recipe(station, "/root/r1", files, ["p.c"], package.meta())
    first = built(station, "/root/r1", "/run/bench/o1", package)
    station.say(f"umask 077; mkdir -p /home/{name}; cp -r /root/r1 /home/{name}/r; sleep 1")
    station.say(
        f"cd /home/{name} && mkdir o && export TZ=X-9 LC_ALL=xx BENCH=1 && umask 077 && "
        "lade build r o",
        120,
    )
    again = station.machine.shell.read_file(f"/home/{name}/o/{package.file_name}")
    assert first == again, "the same recipe, elsewhere and later, made another package [R28]"
    station.say(f"rm -r /home/{name}")
    made = form.read(first, "what was built")
    assert made.meta() == package.meta() and set(made.plain) == {f"usr/bin/{name}"}, (
        f"built was {made.meta()!r} with {sorted(made.plain)} [R28]"
    )
    repository.offer(made)
    station.online()
    station.done("update")
    station.done(f"install {name}")
    said = station.run(f"/usr/bin/{name} 1 2").stdout.strip()
    assert said == f"{int(one, 16) ^ 3:x} {two}", f"what was built and installed printed {said!r}"


def recipes_that_fail(station, word) -> None:
    package = Package(word("cedar"), "1")
    meta, files = package.meta(), {"s": b"source\n", "build": b'echo x >"$DEST/x"\n'}
    wrong = {
        "a build that fails": (
            16,
            files | {"build": b'echo x >"$DEST/x"\nfalse\ntrue\n'},
            meta,
            None,
        ),
        "a configuration file that is not there": (16, files, meta + b"config=etc/none\n", None),
        "another source": (12, files, meta, "echo more >>s"),
        "a missing source": (12, files, meta, "rm s"),
        "no name": (2, files, b"version=1\n", None),
        "an unknown line": (2, files, meta + b"colour=red\n", None),
        "no build": (2, files, meta, "rm build"),
        "no recipe": (2, files, meta, "rm recipe"),
        "a version that is none": (2, files, meta.replace(b"version=1", b"version=1.x"), None),
        "a name in capitals": (2, files, meta.replace(b"name=", b"name=X"), None),
        "needs that are not sorted": (2, files, meta + b"needs=libc\nneeds=busybox\n", None),
        "needs behind conflicts": (2, files, meta + b"conflicts=x\nneeds=libc\n", None),
        "a line behind the sources": (2, files, meta, "echo config=x >>recipe"),
        "an empty line": (2, files, meta + b"\n", None),
        "a source without a sum": (2, files, meta, "echo source=s >>recipe"),
        "a path that climbs": (2, files, meta + b"config=../x\n", None),
        "a source that climbs": (
            (2, 12),
            files,
            meta,
            "echo source=../s $(sha256sum s | cut -c 1-64) >>recipe",
        ),
    }
    before = left(station)
    for what, (status, held, text, after) in wrong.items():
        recipe(station, "/root/bad", held, ["s"], text)
        station.say(f"cd /root/bad && {after or ':'}; rm -rf /run/bench/bad; mkdir /run/bench/bad")
        said = station.lade("build /root/bad /run/bench/bad")
        allowed = status if isinstance(status, tuple) else (status,)
        assert said in allowed, f"a recipe with {what} ended with {said}, not {status} [R28]"
        there = station.say("ls -A /run/bench/bad")
        assert not there, f"a recipe with {what} put {there!r} into OUT [R28]"
    station.say("rm -r /root/bad")
    more = sorted(left(station) - before)
    assert not more, f"builds that failed left {more[:5]} [R27]"


def tide_is_made_by_the_station(station, own, delivered) -> None:
    tide = own["tide"]
    assert tide.version == "1.0", f"tide has the version {tide.version}, not 1.0 [R29]"
    recipe = {
        path.removeprefix(f"{RECIPE}/"): entry.data
        for path, entry in own["recipes"].plain.items()
        if path.startswith(f"{RECIPE}/")
    }
    digest = hashlib.sha256(recipe.get("tide.c", b"")).hexdigest()
    assert digest == tides.SHA256, f"/{RECIPE}/tide.c is not the tide.c of the order [R29]"
    text = recipe.get("recipe", b"").decode("latin-1")
    sources = [row for row in text.splitlines() if row.startswith("source=")]
    assert sources == [f"source=tide.c {digest}"], (
        f"the recipe's sources are {sources}, tide.c alone was wanted [R29]"
    )
    made = built(station, f"/{RECIPE}", "/run/bench/tide", tide)
    assert made == delivered[tide.file_name], (
        "the station makes another tide than the repository has [R29]"
    )


def tide_is_compiled_from_its_source(station, own, nonce, draw) -> None:
    station.done("install tide")
    for hours in (0, 7, draw.randrange(3000, 20000)):
        seed = nonce()
        said, wanted = station.run(f"/usr/bin/tide {seed} {hours}").stdout, tides.tide(seed, hours)
        assert said.strip() == wanted, f"tide {seed} {hours} printed {said!r}, not {wanted!r} [R29]"
    # The same recipe with another source makes another program.
    at, name, seed = draw.randrange(len(tides.NAMES)), nonce()[:9], nonce()
    hours = next(n for n in range(2000) if tides.tide(seed, n).startswith(f"{tides.NAMES[at]} "))
    station.say(
        f"rm -rf /root/other; cp -r /{RECIPE} /root/other; cd /root/other; "
        f'sed -i \'s/"{tides.NAMES[at]}"/"{name}"/\' tide.c; '
        'sum=$(sha256sum tide.c | cut -c 1-64); sed -i "s/^source=.*/source=tide.c $sum/" recipe'
    )
    other = form.read(built(station, "/root/other", "/run/bench/other", own["tide"]), "built")
    assert "usr/bin/tide" in other.plain, "what was built has no /usr/bin/tide [R29]"
    said = station.run(
        f"cd /root/other && tar -xf /run/bench/other/{other.file_name} root/usr/bin/tide && "
        f"root/usr/bin/tide {seed} {hours}"
    ).stdout
    wanted = tides.tide(seed, hours).replace(tides.NAMES[at], name, 1)
    assert said.strip() == wanted, (
        f"built from a changed tide.c it printed {said!r}, not {wanted!r}: it is not compiled from "
        "its source [R29]"
    )

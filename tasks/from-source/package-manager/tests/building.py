"""Recipes."""

from __future__ import annotations

import hashlib

import cases
import form
import tides
from form import Package


def recipe(station, folder: str, files: dict[str, bytes], sources: list[str], meta: bytes) -> None:
    """Put a recipe on the station."""
    station.say(f"rm -rf '{folder}'; mkdir -p '{folder}'")
    for name in sources:
        digest = hashlib.sha256(files[name]).hexdigest()
        meta += f"source={name} {digest}\n".encode()
    for name, data in {"recipe": meta, **files}.items():
        station.machine.shell.write_file(f"{folder}/{name}", data)


def built(station, folder: str, out: str, package: Package) -> bytes:
    station.say(f"rm -rf '{out}'; mkdir -p '{out}'")
    station.done(f"build '{folder}' '{out}'", 120)
    assert station.say(f"ls -A '{out}'") == package.file_name
    return station.machine.shell.read_file(f"{out}/{package.file_name}")


def a_recipe_of_data(station, word, nonce) -> None:
    name = word("alder")
    package = Package(name, "0.10.2", needs=["busybox", "libc>=1.2"], conflicts=[word("x")])
    package.config(f"etc/{name}.conf", f"{nonce()}\n", 0o640).link(f"opt/{name}/l", "some where")
    package.file(f"opt/{name}/run", f"#!/bin/sh\n{nonce()}\n", 0o4755).dir(
        f"opt/{name}/empty", 0o700
    )
    package.file(f"opt/{name}/B c", "umask").file(f"opt/{name}/a.c", b"").dir(f"opt/{name}/a")
    package.file(f"opt/{name}/a/x", "-")
    package.check = cases.script("exit 0")
    files = {
        "one.conf": package.entries[f"etc/{name}.conf"].data,
        "run": package.entries[f"opt/{name}/run"].data, "check": package.check,
        "unnamed": b"not a source",
        "build": (
            f"test ! -e unnamed\ntest \"$LC_ALL$HOME\" = C/\ntest -z \"$BENCH\"\ncd \"$DEST\"\n"
            f"mkdir -p etc opt/{name}/a opt/{name}/empty\nchmod 700 opt/{name}/empty\n"
            f"cp \"$OLDPWD/one.conf\" etc/{name}.conf\n"
            f"chmod 640 etc/{name}.conf\nchown 5:6 etc/{name}.conf\n"
            f"cp \"$OLDPWD/run\" opt/{name}/run\nchmod 4755 opt/{name}/run\n"
            f"printf umask >'opt/{name}/B c'\n: >opt/{name}/a.c\nprintf - >opt/{name}/a/x\n"
            f"ln -s 'some where' opt/{name}/l\n! read -r line\n"
        ).encode(),
    }  # fmt: skip
    recipe(station, "/root/it is", files, ["one.conf", "run"], package.meta())
    station.note()
    station.say("ls -A /tmp /root /var/tmp 2>/dev/null | sort >/run/bench/left")
    first = built(station, "/root/it is", "/run/bench/o 1", package)
    assert form.read(first, "what was built").entries == package.entries
    assert first == package.pack(), "META, CHECK or form"
    station.changed()
    station.say("ls -A /tmp /root /var/tmp 2>/dev/null | sort | cmp - /run/bench/left")


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
    assert first == again, "the same recipe makes two packages"
    station.say(f"rm -r /home/{name}")
    made = form.read(first, "what was built")
    assert made.meta() == package.meta() and set(made.plain) == {f"usr/bin/{name}"}
    repository.offer(made)
    station.online()
    station.done("update")
    station.done(f"install {name}")
    assert station.say(f"{name} 1 2") == f"{int(one, 16) ^ 3:x} {two}"


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
        "a source that climbs": (
            2,
            files,
            meta,
            "echo source=../s $(sha256sum s | cut -c 1-64) >>recipe",
        ),
    }
    before = station.say("ls -A /tmp")
    for what, (status, held, text, after) in wrong.items():
        recipe(station, "/root/bad", held, ["s"], text)
        station.say(f"cd /root/bad && {after or ':'}; rm -rf /run/bench/bad; mkdir /run/bench/bad")
        assert station.lade("build /root/bad /run/bench/bad") == status, what
        assert station.say("ls -A /run/bench/bad") == "", what
    assert station.say("ls -A /tmp") == before, "something was left behind"


def tide_is_made_by_the_station(station, own, delivered, repository, nonce) -> None:
    tide = own["tide"]
    assert tide.version == "1.0"
    made = built(station, "/usr/src/recipes/tide", "/run/bench/tide", tide)
    assert made == delivered[tide.file_name], (
        "the station makes another tide than the repository has"
    )
    station.done("install tide")
    for hours in (0, 7, 20000):
        seed = nonce()
        assert station.say(f"tide {seed} {hours}") == tides.tide(seed, hours)

"""What has to be refused: indexes and packages that are wrong in one way each."""

from __future__ import annotations

import random
import re

from form import BLOCK, Entry, Package, header, index, member


def forged(data: bytes, draw: random.Random) -> bytes:
    """One bit of it is another."""
    copy = bytearray(data)
    copy[draw.randrange(len(copy))] ^= 1 << draw.randrange(8)
    return bytes(copy)


def indexes(packages, serial: int) -> dict[str, bytes]:
    """Indexes of another form, each of which would be right but for that."""
    good = index(packages, serial)
    rows = good.decode().splitlines(keepends=True)
    head, body = rows[:2], rows[2:]
    pieces = body[0].split(" ")

    def first(at: int, value: str) -> bytes:
        return "".join(
            [*head, " ".join([*pieces[:at], value, *pieces[at + 1 :]]), *body[1:]]
        ).encode()

    return {
        "another magic": good.replace(b"lade-index 1", b"lade-index 2"),
        "no serial": "".join([rows[0], *body]).encode(),
        "a serial that is no number": re.sub(rb"serial .*", b"serial 12x", good),
        "not sorted": "".join([*head, *reversed(body)]).encode(),
        "a name twice": "".join([*head, body[0], *body]).encode(),
        "five fields": first(5, "").replace(b" \n", b"\n"),
        "a version of letters": first(1, "1.x"),
        "capitals in a sum": first(3, pieces[3].upper().replace("0", "A")),
        "a name that climbs": first(0, "../" + pieces[0]),
        "no end of line": good[:-1],
    }


def package(name: str, version: str, word: str) -> Package:
    made = Package(name, version)
    return made.file(f"opt/{name}/data", f"{word}\n").link(f"opt/{name}/zlink", "data")


def damaged(name: str, draw: random.Random) -> dict[str, tuple[Package, bytes]]:
    """What the index says, and a file of another form whose size and sum the index has."""
    word = f"{draw.randrange(16**12):012x}"
    good = package(name, "1.0", word)
    data = good.pack()
    meta = member("META", Entry("file", 0o644, data=good.meta()))
    entries = data[len(meta) : -2 * BLOCK]
    end = bytes(2 * BLOCK)

    def with_meta(package: Package) -> bytes:
        return member("META", Entry("file", 0o644, data=package.meta())) + entries + end

    def extra(path: str, entry: Entry) -> bytes:
        return meta + entries + member(path, entry) + end

    def patched(at: int, value: bytes) -> bytes:
        head = bytearray(data)
        place = len(meta)
        head[place + at : place + at + len(value)] = value
        head[place + 148 : place + 156] = b" " * 8
        head[place + 148 : place + 156] = b"%06o\0 " % sum(head[place : place + BLOCK])
        return bytes(head)

    plain = Entry("file", 0o644, data=word.encode())
    hard = bytearray(header(f"root/opt/{name}/zz", Entry("symlink", 0o777, link="x")))
    hard[156:157] = b"1"
    hard[148:156] = b" " * 8
    hard[148:156] = b"%06o\0 " % sum(hard)
    return {
        "another name": (good, with_meta(good.but(name=name + "x"))),
        "another version": (good, with_meta(good.but(version="1.1"))),
        "more needs": (good, with_meta(good.but(needs=["libc"]))),
        "a path that climbs": (good, extra("root/opt/../../etc/rogue", plain)),
        "an absolute path": (good, extra(f"root//opt/{name}/x", plain)),
        "a path of lade's own": (good, extra("root/var/lib/lade/db", plain)),
        "a path without its folder": (good, extra(f"root/opt/{name}/zz/none", plain)),
        "a path twice": (good, extra(f"root/opt/{name}/zlink", plain)),
        "a member outside of root": (good, extra(f"zoot/{name}", plain)),
        "a hard link": (good, meta + entries + bytes(hard) + end),
        "a wrong sum in a header": (good, data.replace(b"ustar\x0000", b"ustar\x0001", 1)),
        "a time": (good, patched(136, b"00000000001\0")),
        "no end": (good, data[:-BLOCK]),
        "something after the end": (good, data + bytes(BLOCK)),
        "no META": (good, entries + end),
        "a configuration file that is none": (good, with_meta(good.but(configs=["etc/none"]))),
    }


OWN_PARTS = ("libc", "busybox", "lade", "base")


def family(word, nonce) -> tuple[list[Package], list[Package]]:
    """Two packages in an old and a new version, in which much moves."""
    a, b = word("fell"), word("glen")
    one = Package(a, "1.9").file(f"opt/{a}/moves", nonce()).file(f"opt/{a}/stays", "same")
    one.file(f"opt/{a}/goes", nonce()).file(f"opt/{a}/deep/er/goes", nonce())
    one.file(f"opt/{a}/to-dir", nonce()).link(f"opt/{a}/link-to-dir", "deep")
    one.file(f"opt/{a}/to-file/x", nonce()).file(f"opt/{a}/to-link/y", nonce())
    one.file(f"opt/{a}/file-to-link", nonce()).link(f"opt/{a}/link-to-file", "stays")
    one.link(f"opt/{a}/link", "goes").file(f"opt/{a}/mode", "mode", 0o755, 5, 6)
    two = Package(b, "2").file(f"opt/{b}/own", nonce())
    late = Package(a, "1.10").file(f"opt/{a}/stays", "same").file(f"opt/{a}/to-dir/z", nonce())
    late.file(f"opt/{a}/link-to-dir/goes", nonce()).file(f"opt/{a}/to-file", nonce())
    late.link(f"opt/{a}/to-link", "stays").link(f"opt/{a}/file-to-link", "stays")
    late.file(f"opt/{a}/link-to-file", nonce()).link(f"opt/{a}/link", "stays")
    late.file(f"opt/{a}/mode", "mode", 0o4711, 7, 8)
    taker = Package(b, "2.0.1").file(f"opt/{b}/own", nonce())
    taker.file(f"opt/{a}/moves", nonce())
    return [one, two], [late, taker]


def script(*commands: str) -> bytes:
    return "\n".join(["#!/bin/sh", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *commands, ""]).encode()


def bumped(package: Package, word: str) -> Package:
    """The next version of a package: the same, and a file more."""
    numbers = package.version.split(".")
    later = package.but(version=".".join([*numbers[:-1], str(int(numbers[-1]) + 1)]))
    return later.file(f"usr/share/bench/{package.name}", f"{word}\n")

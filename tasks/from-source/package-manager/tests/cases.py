"""What has to be refused: indexes and packages that are wrong in one way each."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from form import BLOCK, Entry, Package, index, member

from benchflow.boot import is_elf


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
        "a serial with a zero before it": re.sub(rb"serial ", b"serial 0", good),
        "two serials": "".join([*head, head[1], *body]).encode(),
        "five fields": first(5, "").replace(b" \n", b"\n"),
        "a size of ten digits": first(2, "1000000000"),
        "a size that is no number": first(2, "0x" + pieces[2]),
        "an empty field": first(4, ""),
        "a version of five numbers": first(1, "1.2.3.4.5"),
        "a need that is none": first(4, "libc>1"),
        "an empty line": good + b"\n",
        "two spaces": first(1, " " + pieces[1]),
        "a version of letters": first(1, "1.x"),
        "capitals in a sum": first(3, pieces[3].upper().replace("0", "A")),
        "a name that climbs": first(0, "../" + pieces[0]),
        "no end of line": good[:-1],
        "ends of line with a return": good.replace(b"\n", b"\r\n"),
        "a line before it": b"\n" + good,
        "seven fields": first(5, pieces[5].replace("\n", " -\n")),
        "a tab for a space": "".join([*head, body[0].replace(" ", "\t", 1), *body[1:]]).encode(),
        "a name of 41 letters": first(0, "a" * 41),
        "a letter that is not ASCII": first(0, "a\xe4"),
        "a sum of 63 digits": first(3, pieces[3][:-1]),
        "a version with a zero before it": first(1, "01"),
        "a conflict with a version": first(5, "none>=1\n"),
    }


def package(name: str, version: str, word: str) -> Package:
    made = Package(name, version)
    return made.file(f"opt/{name}/data", f"{word}\n").link(f"opt/{name}/zlink", "data")


def damaged(name: str, draw: random.Random) -> dict[str, tuple[Package, bytes]]:
    """What the index says, and a file of another form whose size and sum the index has.

    Each is wrong in one way: what goes with an odd path is there too, in the right order.
    """
    word = f"{draw.randrange(16**12):012x}"
    good = package(name, "1.0", word)
    good.check = script("exit 0")
    data = good.pack()
    meta = member("META", Entry("file", 0o644, data=good.meta()))
    check = member("CHECK", Entry("file", 0o755, data=good.check))
    entries = data[len(meta) + len(check) : -2 * BLOCK]
    end = bytes(2 * BLOCK)
    last = data.rindex(b"root/opt/")  # the header of the link, which is the last member
    folder = len(meta) + len(check)  # the header of root/opt/
    plain = data.index(b"root/opt/" + name.encode() + b"/data")
    content = Entry("file", 0o644, data=word.encode())

    def told(text: bytes) -> bytes:
        return member("META", Entry("file", 0o644, data=text)) + check + entries + end

    def with_meta(package: Package) -> bytes:
        return told(package.meta())

    def holding(path: str, entry: Entry = content) -> bytes:
        """With one more entry, where it belongs, and all folders in which it lies."""
        more = good.but()
        parts = path.split("/")
        for depth in range(1, len(parts)):
            more.entries.setdefault("/".join(parts[:depth]), Entry("directory"))
        more.entries[path] = entry
        return more.pack()

    def after(extra: bytes) -> bytes:
        return meta + check + entries + extra + end

    def patched(start: int, at: int, value: bytes, summed: bool = True) -> bytes:
        """With other bytes in a header, and the sum that then is right."""
        head = bytearray(data)
        head[start + at : start + at + len(value)] = value
        if summed:
            head[start + 148 : start + 156] = b" " * 8
            head[start + 148 : start + 156] = b"%06o\0 " % sum(head[start : start + BLOCK])
        return bytes(head)

    text = good.meta()
    return {
        "another name": (good, with_meta(good.but(name=name + "x"))),
        "another version": (good, with_meta(good.but(version="1.1"))),
        "more needs": (good, with_meta(good.but(needs=["libc"]))),
        "fewer needs": (good.but(needs=["libc"]), data),
        "other conflicts": (good, with_meta(good.but(conflicts=[name + "y"]))),
        "a path that climbs": (good, holding("opt/../rogue")),
        "a path that climbs out": (good, holding("../rogue")),
        "an empty part in a path": (good, holding(f"opt/{name}//x")),
        "an absolute path": (good, holding("/rogue")),
        "a path of lade's own": (good, holding("var/lib/lade/rogue")),
        "a path below /dev": (good, holding("dev/rogue")),
        "a letter that is none": (good, holding(f"opt/{name}/a\tb")),
        "a path without its folder": (good, after(member(f"root/opt/{name}/zz/x", content))),
        "a path twice": (good, after(member(f"root/opt/{name}/zlink", content))),
        "entries that are not sorted": (good, after(member(f"root/opt/{name}/a", content))),
        "a member outside of root": (good, after(member(f"zoot/{name}", content))),
        "a hard link": (good, patched(last, 156, b"1")),
        "a device": (good, patched(last, 156, b"3")),
        "a link of another mode": (good, patched(last, 100, b"0000755\0")),
        "a folder with a size": (good, patched(folder, 124, b"00000000001\0")),
        "a wrong sum in a header": (good, patched(plain, 148, b"000000\0 ", summed=False)),
        "a sum in another form": (good, patched(plain, 154, b" \0", summed=False)),
        "another magic": (good, patched(plain, 257, b"ustar  \0")),
        "a time": (good, patched(plain, 136, b"00000000001\0")),
        "an owner's name": (good, patched(plain, 265, b"root\0")),
        "a mode with blanks": (good, patched(plain, 100, b"   644 \0")),
        "a META of another mode": (good, patched(0, 100, b"0000600\0")),
        "a CHECK of another owner": (good, patched(len(meta), 108, b"0000005\0")),
        "a link without a target": (good, patched(last, 157, bytes(100))),
        "a file with a target": (good, patched(plain, 157, b"data\0")),
        "a file of the older type": (good, patched(plain, 156, b"\0")),
        "a prefix": (good, patched(plain, 345, b"opt\0")),
        "numbers of a device": (good, patched(plain, 329, b"0000000\0")),
        "more behind the end of a name": (good, patched(plain, 98, b"x")),
        "a size that ends with a blank": (
            good, patched(plain, 124, data[plain + 124 : plain + 135] + b" "),
        ),
        "a folder without its slash": (good, patched(folder, 0, b"root/opt\0")),
        "CHECK behind the entries": (good, meta + entries + check + end),
        "META twice": (good, meta + meta + check + entries + end),
        "needs that are not sorted": (
            good.but(needs=["busybox", "libc"]), told(text + b"needs=libc\nneeds=busybox\n"),
        ),
        "a need twice": (good.but(needs=["libc"]), told(text + b"needs=libc\nneeds=libc\n")),
        "no zeros behind a content": (good, data[:folder - 1] + b"x" + data[folder:]),
        "no end": (good, data[:-BLOCK]),
        "something after the end": (good, data + bytes(BLOCK)),
        "no META": (good, check + entries + end),
        "an unknown line in META": (good, told(text + b"colour=red\n")),
        "a META without an end": (good, told(text[:-1])),
        "a configuration file that is none": (good, with_meta(good.but(configs=["etc/none"]))),
        "a configuration file that is a link": (
            good, with_meta(good.but(configs=[f"opt/{name}/zlink"])),
        ),
        "a configuration file twice": (
            good, with_meta(good.but(configs=[f"opt/{name}/data", f"opt/{name}/data"])),
        ),
    }  # fmt: skip


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
    one.dir(f"opt/{a}/hollow", 0o700).file(f"opt/{a}/yard/goes", nonce())
    one.file(f"opt/{a}/shared/a", nonce()).file(f"var/bench/{a}/old", nonce())
    one.file(f"var/bench/{a}/both", nonce())
    two = Package(b, "2").file(f"opt/{b}/own", nonce()).file(f"opt/{a}/shared/b", "b")
    late = Package(a, "1.10").file(f"opt/{a}/stays", "same").file(f"opt/{a}/to-dir/z", nonce())
    late.file(f"opt/{a}/link-to-dir/goes", nonce()).file(f"opt/{a}/to-file", nonce())
    late.link(f"opt/{a}/to-link", "stays").link(f"opt/{a}/file-to-link", "stays")
    late.file(f"opt/{a}/link-to-file", nonce()).link(f"opt/{a}/link", "stays")
    late.file(f"opt/{a}/mode", "mode", 0o4711, 7, 8).file(f"var/bench/{a}/both", nonce())
    late.file(f"var/bench/{a}/new", nonce())
    taker = Package(b, "2.0.1").file(f"opt/{b}/own", nonce()).file(f"opt/{a}/shared/b", "b")
    taker.file(f"opt/{a}/moves", nonce())
    return [one, two], [late, taker]


def script(*commands: str) -> bytes:
    return "\n".join(["#!/bin/sh", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *commands, ""]).encode()


def bumped(package: Package, word: str) -> Package:
    """The next version of a package: a file more, and its programs are others (by their ends)."""
    numbers = package.version.split(".")
    later = package.but(version=".".join([*numbers[:-1], str(int(numbers[-1]) + 1)]))
    for path, entry in package.entries.items():
        if entry.kind == "file" and is_elf(entry.data):
            later.entries[path] = replace(entry, data=entry.data + word.encode())
    return later.file(f"usr/share/bench/{package.name}", f"{word}\n")

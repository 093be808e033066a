"""Who may enter a unit, and what files give away, as the running unit sees it."""

from __future__ import annotations

import re
import secrets

from unit import CLERK, LOADER, ORDER, RELEASE, ROOT, clerk, mounted, refuses, root, said

#: What crypt(5) calls SHA-512, and what is better.
HASHES = ("$6$", "$y$", "$2a$", "$2b$", "$2y$", "$7$", "$gy$")
NOBODY = re.compile(r"(Cap(?:Inh|Prm|Eff|Amb)):\s+([0-9a-f]+)")


def capabilities(status: str) -> dict[str, str]:
    """The capabilities that a /proc/PID/status names, without sets that are empty."""
    return {name: value for name, value in NOBODY.findall(status) if value.strip("0")}


def rows(unit, path: str) -> list[list[str]]:
    """The lines of a table of accounts."""
    return [line.split(":") for line in said(unit, path).splitlines() if line.strip()]


def root_can_log_in(unit) -> None:
    uid = root(unit).run("id -u", check=True).stdout.strip()
    assert uid == "0", f"root has the uid {uid}"


def what_runs_is_what_lies_on_the_disk(unit, kernels, programs, inodes) -> None:
    shell = root(unit)
    version = said(unit, "/proc/version").strip()
    banners = {kernel.banner.strip() for kernel in kernels.values()}
    assert version in banners, f"{version!r} runs; on the disk is {banners} [R6]"
    release = shell.run("uname -r").stdout.strip()
    assert release == RELEASE, f"uname -r says {release}, not {RELEASE} [R6]"
    text = shell.run(LOADER).stdout
    assert f"Version 1.2.3-{ORDER}" in text, f"{LOADER} says {text[:200]!r} [R7]"
    busybox = next((path for path in programs if path.endswith("/busybox")), "busybox")
    first = shell.run(busybox).stdout.strip().partition("\n")[0]
    assert f"BusyBox v1.35.0-{ORDER} " in f"{first} ", f"{busybox} says {first!r} [R8]"
    maps = shell.run("cat /proc/[0-9]*/maps | grep ' ..x. .* /'", timeout=60).stdout
    found = {tuple(line.split()[3:6]) for line in maps.splitlines() if len(line.split()) > 5}
    assert found, "no process has a program [R8]"
    major, minor = (int(number) for number in mounted(unit)["/"][0].split(":"))
    strange = sorted(
        path for device, inode, path in found
        if int(inode) not in inodes or device != f"{major:02x}:{minor:02x}"
    )  # fmt: skip
    assert not strange, f"{strange[:5]} run and are no programs of the root file system [R4] [R9]"


def the_clerk_can_log_in_and_is_nobody_special(unit) -> None:
    shell = clerk(unit)
    uid = int(shell.run("id -u", check=True).stdout)
    assert uid > 0, "clerk is root, not an ordinary user [R20]"
    held = capabilities(shell.run("cat /proc/self/status", check=True).stdout)
    assert not held, f"clerk has the capabilities {held}: an ordinary user [R20]"
    assert shell.run("touch here && rm here").status == 0, "clerk cannot write at home [R20]"
    assert shell.run("cat /etc/shadow").status != 0, "clerk reads /etc/shadow [R21]"
    for place in ("/data/log", "/data/ledger"):
        assert shell.run(f"echo x > {place}/forged").status != 0, f"clerk writes in {place} [R20]"


def wrong_passwords_are_refused(unit, nonce) -> None:
    place = secrets.randbelow(len(ROOT[1]))
    one_bit = ROOT[1][:place] + chr(ord(ROOT[1][place]) ^ 1) + ROOT[1][place + 1 :]
    tries = [
        ("root", ""), ("root", one_bit), ("root", ROOT[1] + nonce()[0]), ("root", CLERK[1]),
        ("root", ROOT[1].swapcase()), ("clerk", CLERK[1][:-1]),
        ("clerk", secrets.choice(["", ROOT[1], CLERK[1].swapcase()])),
    ]  # fmt: skip
    root(unit)
    unit.shell.close()  # or the session that is there would be taken
    for user, password in tries:
        assert refuses(unit, user, password), f"{user} gets in with {password!r} [R20]"
    assert root(unit).run("id -u").stdout.strip() == "0"


def nobody_else_can_log_in(unit) -> None:
    people, words = rows(unit, "/etc/passwd"), rows(unit, "/etc/shadow")
    for name, table in (("/etc/passwd", people), ("/etc/shadow", words)):
        names = [row[0] for row in table]
        assert len(names) == len(set(names)), f"{name} has a name twice: {names} [R21]"
    lords = sorted(row[0] for row in people if row[2].lstrip("0") == "")
    assert lords == ["root"], f"{lords} are root [R21]"
    loose = [row[0] for row in people if row[1] != "x" and row[1][:1] not in ("*", "!")]
    assert not loose, f"/etc/passwd itself lets {loose} in: passwords are elsewhere [R21]"
    opened = {row[0]: row[1] for row in words if row[1][:1] not in ("!", "*")}
    assert set(opened) == {"root", "clerk"}, f"{sorted(opened)} have passwords [R21]"
    for user, word in opened.items():
        assert word.startswith(HASHES), f"{user}: {word[:4]!r} is weaker than SHA-512 crypt [R21]"
    # musl asks here first, whatever /etc/shadow says.
    assert root(unit).run("ls -d /etc/tcb").status != 0, "/etc/tcb lets others in [R21]"


def members(unit, gid: str) -> set[str]:
    """Who is in a group, by its table and by theirs."""
    named = [row[3] for row in rows(unit, "/etc/group") if len(row) > 3 and row[2] == gid]
    found = {name for text in named for name in text.split(",") if name}
    return found | {row[0] for row in rows(unit, "/etc/passwd") if row[3] == gid}


def passwords_are_kept_well(unit, trees, every) -> None:
    line = root(unit).run("ls -ln $(readlink -f /etc/shadow)", check=True).stdout.split()
    assert line[2] == "0" and line[0][7:10] == "---", f"/etc/shadow is {line[:4]} [R21]"
    assert line[0][4:7] == "---" or members(unit, line[3]) <= {"root"}, (
        f"/etc/shadow is {line[0]}, and in its group are {sorted(members(unit, line[3]))}: only "
        "root can read it [R21]"
    )
    secret = [row[1].encode() for row in rows(unit, "/etc/shadow") if len(row[1]) > 12]
    secret += [ROOT[1].encode(), CLERK[1].encode()]
    for tree in trees:
        for entry, data in every(tree):
            if any(word in data for word in secret):
                others = (
                    entry.uid
                    or entry.mode & 0o004
                    or (entry.mode & 0o040 and not members(unit, str(entry.gid)) <= {"root"})
                )
                assert not others, (
                    f"{entry.path} ({entry.mode:o}, {entry.uid}:{entry.gid}) tells a password: "
                    "kept where only root can read them [R21]"
                )


#: Devices that are for everybody on any Linux.
OPEN = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "console")


def loose_files(tree) -> list[str]:
    """Files of a file system that give away rights; a device of the disk is its files."""
    found = [
        e for e in tree.walk("/")
        if (e.kind == "file" and e.mode & 0o6002)
        or (e.kind == "device" and e.mode & 0o6006 and e.path.rpartition("/")[2] not in OPEN)
    ]  # fmt: skip
    return [f"{entry.path} ({entry.mode:04o})" for entry in found]


def memory_gives_away_no_rights(unit) -> None:
    """What the running unit has beside its disk: files in memory, and the disk as a device."""
    # Sorted out there: what a folder of /run holds may be long.
    wrong = "^(-.{7}w|-..[sS]|-.{5}[sS]|b.{6}(r|.w))"
    listing = f"ls -lnaR /dev/. /run/. /tmp/. 2>/dev/null | grep -E '{wrong}'"
    loose = root(unit).run(listing, timeout=120).stdout.splitlines()
    assert not loose, f"{loose[:3]}: anybody's to write, or the disk with all it keeps [R21]"


def no_file_gives_away_rights(trees) -> None:
    loose = [text for tree in trees for text in loose_files(tree)]
    assert not loose, f"{loose[:5]}: set-user-id, set-group-id or writable by anybody [R21]"

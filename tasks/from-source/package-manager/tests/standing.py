"""The station by itself, before lade is asked for much."""

from __future__ import annotations

import re

import accounts
import pytest
from ordered import ASIDE, LOADER
from station import PASSWORD, lines

from benchflow.boot import Image
from benchflow.boot.errors import LoginFailed

STILL = (".h", ".a", ".o", ".c", ".ko", "/recipe", "/build")
LOOPBACK = re.compile(r"[0-9A-F]{6}7F:|0{24}01000000:")
TOOLS = "sh awk sed grep find sort diff stat sha256sum wget tar vi cc lade"


def it_starts(station, metric) -> None:
    station.machine.boot()
    station.machine.expect("login: ?", timeout=30)
    metric("boot_seconds", station.machine.elapsed)
    station.since_login = station.machine.elapsed
    station.enter()


def it_has_a_network(station) -> None:
    # What has passed since the login was there is part of the 15 seconds.
    station.online(max(3.0, 15 - (station.machine.elapsed - station.since_login)))
    said, host = station.run("ip route").stdout, station.repository.host
    assert re.search(rf"^default via {re.escape(host)}\b", said, re.MULTILINE), (
        f"the route that DHCP gives leads over {host} [R3]; ip route says {said!r}"
    )


def a_dead_line_holds_up_nothing(lonely) -> None:
    lonely.machine.boot()
    lonely.machine.expect("login: ?", timeout=30)
    lonely.enter()
    assert lonely.versions().get("lade"), "lade list does not know lade [R25]"
    lonely.ends("update", 10, "the repository cannot be reached")


def near_misses(password: str) -> list[str]:
    """What is nearly the password and never it: a drawn one may have no letter to change."""
    near = [password[:-1], password + "1", password.swapcase(), password[:-1] + "2", password[:8]]
    return [one for one in near if one != password]


def one_password_opens_it(lonely, draw, nonce) -> None:
    near = near_misses(PASSWORD)
    lonely.machine.shell.close()
    for wrong in ("", draw.choice(near), nonce()[:12]):
        with pytest.raises(LoginFailed):
            lonely.machine.login("root", wrong, timeout=60)
            raise AssertionError(f"root logged in with {wrong!r}; one password was to open it [R1]")
    lonely.enter()


def there_is_no_other_way_in(station, tree) -> None:
    accounts.only_root(tree)
    station.say("mkdir -p /run/bench/proc && mount -t proc proc /run/bench/proc")
    try:
        table = station.say("cat /run/bench/proc/net/tcp /run/bench/proc/net/tcp6 2>/dev/null; :")
    finally:
        station.run("umount /run/bench/proc")
    rows = [row.split() for row in table.splitlines() if re.match(r" *\d+:", row)]
    # Address:port, the other end, the state: 0A listens. Loopback may talk to itself.
    listening = [row[1] for row in rows if row[3] == "0A" and not LOOPBACK.match(row[1])]
    ports = sorted({int(where.rpartition(":")[2], 16) for where in listening})
    assert not ports, f"listens on the TCP ports {ports}; nothing was to [R1]"


def the_disk(station, lonely, deliverable, nonce) -> None:
    delivered = Image(deliverable("/app/out/disk.img"))
    assert delivered.size == 64 << 20, f"disk.img has {delivered.size} bytes, not 64 MiB"
    assert not delivered.partitions(), "disk.img has a partition table [R2]"
    free, size = station.say("stat -f -c '%f %S' /").split()
    assert int(free) * int(size) >= 32 << 20, (
        f"{int(free) * int(size)} bytes are free, 32 MiB were wanted [R2]"
    )
    # What is written to / has to be on the disk, and after each end the disk in order.
    first, second = nonce(), nonce()
    lonely.say(f"echo {first} >/{first}")
    lonely.restart()
    found = re.findall(r"EXT4-fs.*(?:recovery|orphan).*", lonely.run("dmesg").stdout)
    assert not found, f"reboot left the disk so that the kernel had to repair it [R2]: {found[:3]}"
    assert lonely.run(f"cat /{first}").stdout.strip() == first, "/ forgets what is written [R2]"
    lonely.say(f"echo {second} >/{second}")
    lonely.power_off()
    lonely.in_order()
    left = Image(lonely.machine.flatten()).ext4()
    assert left.problems() == "", f"e2fsck after poweroff [R2]: {left.problems()[:300]}"
    for word in (first, second):
        assert left.exists(f"/{word}") and left.read_text(f"/{word}").strip() == word, (
            "what was written to / is not on disk.img, which was to be / [R2]"
        )


def what_it_was_made_from(station) -> None:
    for program, called in ((LOADER, "1.2.3-tarn3"), ("busybox", "v1.35.0-tarn3")):
        said = station.run(program).stdout
        assert called in said, f"{program} calls itself {said[:120]!r}, not {called!r} [R4]"
    missing = station.run(
        f"for tool in {TOOLS}; do command -v $tool >/dev/null || echo $tool; done"
    ).stdout.split()
    assert not missing, f"the station has no {missing} [R4]"


def it_compiles(station, nonce) -> None:
    one, two = int(nonce()[:7], 16), int(nonce()[:7], 16)
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int main(int c, char **v) { char b[64]; long x = strtol(v[1], 0, 10);\n"
        f'  snprintf(b, sizeof b, "%ld", x * {one} + {two}); puts(b); return strlen(b) > 60; }}\n'
    )
    station.say("mkdir -p /tmp/try")
    station.machine.shell.write_file("/tmp/try/try.c", source.encode())
    wanted = str(977 * one + two)
    for made, how in (("shared", "cc -o shared try.c"), ("alone", "cc -static -o alone try.c")):
        said = station.run(f"cd /tmp/try && {how} && ./{made} 977", 120).stdout.strip()
        assert said == wanted, f"{how}; ./{made} 977 printed {said[-300:]!r}, not {wanted} [R5]"
    # Where the library is not, only what has no need of it runs.
    alone = station.run("chroot /tmp/try /alone 977")
    assert alone.stdout.strip() == wanted, f"cc -static: it needs the library: {alone} [R5]"
    shared = station.run("chroot /tmp/try /shared 977")
    assert shared.stdout.strip() != wanted, "cc without -static: it does not use the library [R5]"
    station.say("rm -r /tmp/try")


def a_station_that_runs_is_what_its_packages_say(station, own) -> None:
    mine = [package for package in own.values() if package.name != "tide"]
    told = set().union(*(lines(package.entries) for package in mine))
    tops = {*ASIDE, "var"}

    def counts(path: str) -> bool:
        return not any(path == top or path.startswith(f"{top}/") for top in tops)

    def path_of(row: str) -> str:
        shown = row[66:] if row[64:66] == "  " else row.split("|", 3)[-1].split(" -> ")[0]
        return shown.removeprefix("./")

    seen = {row for row in station.seen() if path_of(row) not in ("", ".")}
    strange = sorted(row for row in seen - told if counts(path_of(row)))
    assert not strange, f"is there, and no package says so [R7]: {strange[:4]}"
    there = {path_of(row) for row in seen}
    gone = sorted(
        path for package in mine for path in package.entries if counts(path) and path not in there
    )
    assert not gone, f"a package says so, and it is not there [R7]: {gone[:4]}"


def it_tells_what_is_installed(station, own) -> None:
    mine = {name: package for name, package in own.items() if name != "tide"}
    wanted = {name: package.version for name, package in mine.items()}
    assert station.versions() == wanted, f"lade list; {wanted} was wanted [R7, R25]"
    for name in ("busybox", "lade"):
        said = station.asks(f"files {name}")
        assert said == [f"/{path}" for path in sorted(mine[name].plain)], (
            f"lade files {name} [R25]: {said[:4]}…"
        )
    for name in ("libc", "cc"):
        path = sorted(mine[name].plain)[0]
        said = station.asks(f"owner '/{path}'")
        assert said == [name], f"lade owner /{path} [R25]: {said}, {name} was wanted"
    for path in ("/no/such", "/root"):
        station.ends(f"owner {path}", 13, "it belongs to no package [R25]")
    station.ends("files tide", 13, "tide is not installed")
    station.sound()


def it_finds_what_was_changed(station, own, draw) -> None:
    plain = {
        p: e for name, package in own.items() if name != "tide" for p, e in package.plain.items()
    }
    configs = {path for package in own.values() for path in package.configs}
    files = sorted(p for p, e in plain.items() if e.kind == "file" and p not in configs)
    # Content goes where nothing runs from; a mode and an owner may be any file's.
    still = [p for p in files if p.endswith(STILL)]
    content, missing, linked, folder = draw.sample(still, 4)
    mode, owner = draw.sample([p for p in files if not p.endswith(STILL)], 2)
    station.note()
    station.say("mkdir -p /run/bench/kept")
    kept = {
        path: f"/run/bench/kept/{at}" for at, path in enumerate((content, missing, linked, folder))
    }
    for path, copy in kept.items():
        station.say(f"cp -p '/{path}' {copy}")
    station.say(
        f"echo >>'/{content}'; rm '/{missing}'; chmod {plain[mode].mode ^ 0o011:o} '/{mode}'; "
        f"chown {plain[owner].uid + 12} '/{owner}'; "
        f"ln -sf {kept[linked]} '/{linked}'; rm '/{folder}'; mkdir '/{folder}'; "
        "echo '# more' >>/etc/lade.conf"
    )
    touched = (*kept, mode, owner)
    said = station.asks("verify", 1)
    wanted = [f"{'missing' if p == missing else 'changed'} /{p}" for p in sorted(touched)]
    assert said == wanted, f"lade verify printed {said}, {wanted} was wanted [R26]"
    for path, copy in kept.items():
        station.say(f"rm -r '/{path}'; cp -p {copy} '/{path}'")
    for path in (mode, owner):  # what runs is not replaced
        entry = plain[path]
        station.say(f"chown {entry.uid}:{entry.gid} '/{path}'; chmod {entry.mode:o} '/{path}'")
    station.say("sed -i '$d' /etc/lade.conf")
    station.changed()
    station.sound()

"""The station by itself, before lade is asked for much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import accounts
import pytest
import tools
from ordered import ASIDE, LOADER
from station import PASSWORD, lines

from benchflow.bench.ext4_edit import is_ext4
from benchflow.boot import Image
from benchflow.boot.errors import LoginFailed

STILL = (".h", ".a", ".o", ".c", ".ko", "/recipe", "/build")
LOOPBACK = re.compile(r"[0-9A-F]{6}7F:|0{24}01000000:")
DHCP_CLIENT = (68, 546)
LISTENS = 20  # seconds: BusyBox's ntpd waits fifteen for an answer
HEADERS = (
    "arpa/inet assert ctype dirent errno fcntl float glob grp inttypes iso646 limits locale math "
    "netdb netinet/in poll pthread pwd regex sched semaphore setjmp signal stdarg stdbool stddef "
    "stdint stdio stdlib string strings sys/mman sys/select sys/socket sys/stat sys/time sys/types "
    "sys/un sys/wait termios time unistd wchar wctype"
)
THREADED = """long part(long);
static void *root(void *p) { *(double *)p = sqrt(*(double *)p); return 0; }
int main(int c, char **v)
{
    double x = atof(v[1]);
    pthread_t t;
    if (pthread_create(&t, 0, root, &x) || pthread_join(t, 0))
        return 1;
    printf("%.4f %" PRId64 "\\n", x, (int64_t)part(c));
    return 0;
}
"""


def it_starts(station, metric) -> None:
    station.machine.boot()
    station.machine.expect("login: ?", timeout=30)
    metric("boot_seconds", station.machine.elapsed)
    station.since_login = station.machine.elapsed
    station.enter()


def it_has_a_network(station) -> None:
    # What has passed since the login was there is part of the 15 seconds.
    station.online(max(3.0, 15 - (station.machine.elapsed - station.since_login)))


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
    for wrong in ("", *draw.sample(near, 2), nonce()[:12]):
        with pytest.raises(LoginFailed):
            lonely.machine.login("root", wrong, timeout=60)
            raise AssertionError(f"root logged in with {wrong!r}; one password was to open it [R1]")
    lonely.enter()


def there_is_no_other_way_in(station, tree) -> None:
    accounts.only_root(tree)
    nothing_listens(station)


def nothing_listens(station) -> None:
    """Neither for connections nor for datagrams. Who awaits an answer has an end to it."""
    with proc(station) as place:
        found, deadline = listening(station, place), station.machine.deadline(LISTENS)
        while found and deadline.remaining() > 0:
            station.say("sleep 2")
            found &= listening(station, place)
    assert not found, f"listens on the ports {sorted(found)}; nothing was to [R1]"


def listening(station, place: str) -> set[tuple[str, int]]:
    """The kinds and numbers of ports at which anybody is heard, but for what DHCP needs."""
    found = set()
    for kind, state in (("tcp", "0A"), ("udp", "07"), ("udplite", "07")):
        table = station.say(f"cat {place}/net/{kind} {place}/net/{kind}6 2>/dev/null; :")
        found |= {(kind, port) for port in open_ports(table, state)}
    return found - {("udp", port) for port in DHCP_CLIENT}


def open_ports(table: str, state: str) -> set[int]:
    """Of a table of the kernel's: ports of sockets in this state that have no other end."""
    rows = [row.split() for row in table.splitlines() if re.match(r" *\d+:", row)]
    # Address:port, the other end, the state. Loopback may talk to itself.
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if row[3] == state and not row[2].strip("0:") and not LOOPBACK.match(row[1])
    }


@contextmanager
def proc(station) -> Iterator[str]:
    """A /proc of ours, whatever the station shows."""
    place = "/run/bench/proc"
    station.say(f"mkdir -p {place} && mount -t proc proc {place}")
    try:
        yield place
    finally:
        station.run(f"umount {place}")


def nothing_runs_from_the_initial_ram_disk(station) -> None:
    with proc(station) as place:
        mounts = station.say(f"cut -d ' ' -f 3 {place}/self/mountinfo").split()
        rows = station.say(
            f"for p in {place}/[0-9]*; do "
            'd=$(stat -L -c %d "$p/exe" 2>/dev/null) && echo "$d $(readlink "$p/exe")"; done; :'
        ).splitlines()
    running = [(int(row.split()[0]), row.partition(" ")[2]) for row in rows]
    assert running, "no process has a program, says /proc"
    # The file system of the initial RAM disk is in no table of mounts once it was left.
    known = {(int(major), int(minor)) for major, _, minor in (m.partition(":") for m in mounts)}
    left = sorted(
        {
            name
            for device, name in running
            if (device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xFFF00) not in known
        }
    )
    assert not left, f"runs from the initial RAM disk, which was to have no more to do [R2]: {left}"


def the_disk(station, lonely, deliverable, nonce) -> None:
    delivered = Image(deliverable("/app/out/disk.img"))
    assert delivered.size == 64 << 20, f"disk.img has {delivered.size} bytes, not 64 MiB"
    assert not delivered.partitions(), "disk.img has a partition table [R2]"
    assert is_ext4(delivered.bytes_at(0, 2048), delivered.size), (
        "disk.img is no ext4 of its whole size [R2]"
    )
    nothing_runs_from_the_initial_ram_disk(station)
    free, size = station.say("stat -f -c '%f %S' /").split()
    assert int(free) * int(size) >= 32 << 20, (
        f"{int(free) * int(size)} bytes are free, 32 MiB were wanted [R2]"
    )
    # What is written to / has to be on the disk, and after each end the disk in order.
    first, second = nonce(), nonce()
    lonely.say(f"echo {first} >/{first}")
    lonely.restart()
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


def what_it_was_made_from(station, nonce, draw) -> None:
    for program, called in ((LOADER, "1.2.3-tarn3"), ("busybox", "v1.35.0-tarn3")):
        said = station.run(program).stdout
        assert called in said, f"{program} calls itself {said[:120]!r}, not {called!r} [R4]"
    station.write("/run/bench/commands", "".join(f"{name}\n" for name in tools.COMMANDS.split()))
    missing = station.say(
        'while read -r tool; do command -v "$tool" >/dev/null || echo "$tool"; done '
        "</run/bench/commands"
    ).split()
    assert not missing, f"of BusyBox's default configuration the station lacks {missing} [R4]"
    word = f"x{nonce()}"  # never of digits alone
    there = tools.rows(draw, word)
    station.say("rm -rf /root/tools; mkdir /root/tools")
    station.write("/root/tools/rows", "".join(f"{row}\n" for row in there))
    for command, wanted in tools.probes(draw, word, there).items():
        said = station.run(f"cd /root/tools; {command}").stdout.strip()
        assert said == wanted, f"{command} printed {said[-300:]!r}, not {wanted!r} [R4]"
    station.say("rm -r /root/tools")


def it_compiles(station, nonce) -> None:
    one, two, root = int(nonce()[:7], 16), int(nonce()[:7], 16), int(nonce()[:3], 16)
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int main(int c, char **v) { char b[64]; long x = strtol(v[1], 0, 10);\n"
        f'  snprintf(b, sizeof b, "%ld", x * {one} + {two}); puts(b); return strlen(b) > 60; }}\n'
    )
    # Not in /tmp, from which a station need let nothing be run.
    station.say("mkdir -p /root/try")
    station.write("/root/try/try.c", source)
    wanted = str(977 * one + two)
    for made, how in (("shared", "cc -o shared try.c"), ("alone", "cc -static -o alone try.c")):
        said = station.run(f"cd /root/try && {how} && ./{made} 977", 120).stdout.strip()
        assert said == wanted, f"{how}; ./{made} 977 printed {said[-300:]!r}, not {wanted} [R5]"
    # Where the library is not, only what has no need of it runs.
    alone = station.run("chroot /root/try /alone 977")
    assert alone.stdout.strip() == wanted, f"cc -static: it needs the library: {alone} [R5]"
    shared = station.run("chroot /root/try /shared 977")
    assert shared.stdout.strip() != wanted, "cc without -static: it does not use the library [R5]"
    # Several files, the library's headers, its mathematics and its threads.
    headers = "".join(f"#include <{name}.h>\n" for name in HEADERS.split())
    station.write("/root/try/a.c", headers + THREADED)
    station.write("/root/try/b.c", f"long part(long n) {{ return n * {one}; }}\n")
    wanted = f"{root:.4f} {2 * one}"
    for how in ("cc", "cc -static"):
        said = station.run(
            f"cd /root/try && cc -c a.c && cc -c b.c && {how} -o both a.o b.o -lm -lpthread && "
            f"./both {root * root}", 120,
        ).stdout.strip()  # fmt: skip
        assert said == wanted, (
            f"two files with the library's headers, linked by {how} with -lm -lpthread: "
            f"{said[-300:]!r}, {wanted!r} was wanted [R5]"
        )
    station.say("rm -r /root/try")


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
    still = [p for p in files if p.endswith(STILL) and plain[p].data]
    content, missing, linked, folder = draw.sample(still, 4)
    mode, owner = draw.sample([p for p in files if not p.endswith(STILL)], 2)
    station.note()
    station.say("mkdir -p /run/bench/kept")
    kept = {
        path: f"/run/bench/kept/{at}" for at, path in enumerate((content, missing, linked, folder))
    }
    for path, copy in kept.items():
        station.say(f"cp -p '/{path}' {copy}")
    # As long as it was, and as old.
    sign = "x" if plain[content].data[:1] != b"x" else "y"
    station.say(
        f"printf {sign} | dd of='/{content}' conv=notrunc 2>/dev/null; "
        f"touch -r {kept[content]} '/{content}'; "
        f"rm '/{missing}'; chmod {plain[mode].mode ^ 0o011:o} '/{mode}'; "
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

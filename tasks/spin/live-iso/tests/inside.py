"""What is asked inside a running PC, and what the answers have to be."""

from __future__ import annotations

import datetime
import re
import secrets
import struct
import zlib
from pathlib import Path
from typing import Any

from pc import PASSWORD

WALL_SHA256 = "d1f7d4127de8253df25fd80a8d00ceba9fd34b88fa6c5542fda50f0df036ebfd"
KILLS = ("KILL", "TERM", "SEGV", "KILL", "ABRT", "KILL", "KILL")

#: On a bench that is slow for a moment the manager answers later than systemctl waits by itself.
PATIENT = "SYSTEMD_BUS_TIMEOUT=100s"
JOBS = f"{PATIENT} systemctl list-jobs --no-legend 2>/dev/null | grep -c -E 'reboot|shutdown'; :"

#: Who waits for what is typed on a screen but the first.
READERS = (
    "find /proc/[0-9]*/fd/0 -lname '/dev/tty[1-9]*' ! -lname /dev/tty1 -printf '%p %l\\n' "
    "2>/dev/null; :"
)

#: The same, but for what asks for a password: the rescue system may have a login there.
UNASKED = (
    f"{READERS.removesuffix('; :')} | while read -r place screen; do "
    "who=$(cat ${place%/fd/0}/comm 2>/dev/null); "
    "case $who in agetty|getty|login|sulogin|'') ;; *) echo $screen $who ;; esac; done; :"
)

#: Where the password would stand in the clear; libraries and modules are Debian's, and many.
PASSWORD_PLACES = (
    "/etc /root /home /var /opt /srv /usr/bin /usr/sbin /usr/local /usr/lib/systemd /usr/libexec "
    "/usr/share/doc /run/expo"
)

OS_RELEASE = {
    "NAME": "Expo Wall", "PRETTY_NAME": "Expo Wall 4.1", "ID": "expo-wall",
    "ID_LIKE": "debian", "VERSION_ID": "4.1", "BUILD_ID": "EW-2291",
}  # fmt: skip

#: What the wall's user makes of a set-uid program and of a device that lie in its folder.
BELIEVED = (
    "cd /var/lib/wall && cp /usr/bin/id filler-id && chown 0:0 filler-id && "
    "chmod 4755 filler-id && mknod -m 666 filler-null c 1 3; "
    "setpriv --reuid USER --regid USER --clear-groups sh -c './filler-id -u; cat filler-null "
    "&& echo device' 2>/dev/null; rm -f filler-id filler-null"
)

#: Changes to another screen, as Alt and a function key do (VT_ACTIVATE).
PRESS_KEYS = "perl -e 'open F, q(+<), q(/dev/tty0) or die; ioctl(F, 0x5606, {}) or die'; sleep 1"

#: What runs; a process may end between its name and its reading (udev's workers do).
CMDLINES = "cat /proc/[0-9]*/cmdline 2>/dev/null"

#: A word of this run, in all places where a system might keep something.
ELSEWHERE = (
    "for f in /root/note /etc/note /var/log/note /home/note /srv/note /var/lib/note; do "
    "echo WORD >$f; done; echo '# WORD' >>/etc/hosts; logger WORD 2>/dev/null; "
    "echo WORD | systemd-cat; sync"
)

#: What lies in the wall's folder and was not in the folder `wall` of our disk.
OUTSIDE = "ls -A /var/lib/wall | grep -vxE 'messages|venue|venue.new|filler-[a-z]*'; :"

#: Open ports, as the kernel has them.
LISTENING = (
    'for k in tcp tcp6; do awk -v k=tcp \'$4 == "0A" {split($2, a, ":"); print k, a[2]}\' '
    "/proc/net/$k 2>/dev/null; done | while read k p; do echo $k:$((0x$p)); done; "
    'for k in udp udp6; do awk -v k=udp \'$4 == "07" {split($2, a, ":"); print k, a[2]}\' '
    "/proc/net/$k 2>/dev/null; done | while read k p; do echo $k:$((0x$p)); done"
)

#: What a program may try, root's included: name service, time, multicast, a server, IPv6.
#: A filter that drops lets a connection wait for its whole time: beside the others.
ATTEMPTS = """
t() { timeout 6 bash -c "$1" >/dev/null 2>&1; }
t 'echo x >/dev/tcp/10.0.2.2/80' &
t 'echo x >/dev/tcp/10.0.2.2/443' &
t 'getent hosts NAME'
t 'echo x >/dev/udp/10.0.2.3/53'
t 'echo x >/dev/udp/10.0.2.2/123'
t 'echo x >/dev/udp/224.0.0.251/5353'
t 'echo x >/dev/udp/ff02::fb%eth0/5353'
for c in /sys/class/net/*; do t "echo x >/dev/udp/ff02::fb%${c##*/}/5353"; done
raw='use Socket; my ($p, $to) = @ARGV; socket(S, PF_INET, SOCK_RAW, $p) or die;'
raw="$raw setsockopt(S, SOL_SOCKET, SO_BROADCAST, 1);"
raw="$raw "'send(S, pack(q(C2n3), 8, 0, 0xf7ff, 0, 0), 0, pack_sockaddr_in(0, inet_aton($to)));'
for p in 1 2 17 132 253; do t "perl -e '$raw' $p 10.0.2.2; perl -e '$raw' $p 255.255.255.255"; done
systemctl start apt-daily.service systemd-timesyncd.service >/dev/null 2>&1
wait
:
"""

#: What is the same system: of the command line all but what a boot loader says of its file.
SYSTEM = {
    "kernel": "uname -rv",
    "command line": "tr ' ' '\\n' </proc/cmdline | grep -vE '^(BOOT_IMAGE|initrd)=' | sort | "
    "tr '\\n' ' '",
    "units": "find /etc/systemd /run/systemd/generator* -type l -printf '%p %l\\n' | sort | "
    "sha256sum",
    "packages": "cat /var/lib/dpkg/status | sha256sum",
    "release": "sha256sum </etc/os-release",
}  # fmt: skip

_DAYS = ("mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag")


def open_accounts(passwd: str, shadow: str) -> str:
    """Accounts but root's with its number, or with a password, or that need none; "" is right."""
    rows = [line.split(":") for line in passwd.splitlines()]
    roots = [row[0] for row in rows if row[2:3] == ["0"]]
    if roots != ["root"]:
        return f"accounts with root's number: {roots}"
    found = {row[0] for row in rows if not re.match(r"x$|[!*]", row[1])}
    held = [line.split(":") for line in shadow.splitlines()]
    found |= {row[0] for row in held if not re.match("[!*]", row[1])} - {"root"}
    return f"accounts with a password, or that need none: {sorted(found)}" if found else ""


def password_places(pc: Any) -> list[str]:
    """Files of the system that have the password in the clear."""
    word = f"{PASSWORD[:5]}[-]{PASSWORD[6:]}"
    found: str = pc.say(f"grep -rlaE '{word}' {PASSWORD_PLACES} 2>/dev/null; :", 300)
    return found.split()


def privileges(status: dict[str, str], groups: set[str]) -> str:
    """What a process has that [R11] forbids; "" when nothing."""
    users = {int(word) for word in status["Uid"].split()}
    if len(users) != 1 or users & {0, 65534}:
        return f"it runs as {users}, not as a user of its own"
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(status[field], 16):
            return f"{field} is {status[field].strip()}"
    if status["NoNewPrivs"].strip() != "1":
        return "it can gain privileges: NoNewPrivs is not set"
    strong = groups & {"root", "disk", "kmem", "shadow", "sudo"}
    return f"it is in the groups {strong}, which are privileges" if strong else ""


def believed(pc: Any) -> list[str]:
    """Of a set-uid program and a device in the wall's folder, what its user can make use of."""
    user = pc.say(f"stat -c %u /proc/{pc.pid()}")
    said = pc.say(f"{BELIEVED.replace('USER', user)}; :").splitlines()
    return [what for word, what in (("0", "a set-uid program"), ("device", "a device"))
            if word in said]  # fmt: skip


def day(month: int) -> tuple[int, str]:
    """A moment of this month (1 or 7) of some year, and how it is called in Oslo."""
    utc = datetime.datetime(
        2001 + secrets.randbelow(30), month, 1 + secrets.randbelow(28),
        secrets.randbelow(24), secrets.randbelow(60), tzinfo=datetime.UTC,
    )  # fmt: skip
    hours, zone, name = (2, "CEST", "juli") if month == 7 else (1, "CET", "januar")
    there = utc + datetime.timedelta(hours=hours)
    text = f"{_DAYS[there.weekday()]} {there:%d} @ {there:%Y %H:%M} {zone}"
    if there.month != month:
        name = {2: "februar", 8: "august"}[there.month]
    return int(utc.timestamp()), text.replace("@", name)


def screen(pc: Any, number: int) -> list[str]:
    """The lines of a screen that are not empty, as the kernel has them (vcsa(4))."""
    raw = bytes.fromhex(
        pc.say(f"head -c 65536 /dev/vcsa{number} | od -An -v -tx1 | tr -d ' \\n'", 60)
    )
    assert len(raw) > 4, f"screen {number} cannot be read"
    columns, cells = raw[1], raw[4::2]
    assert columns, f"screen {number} has no columns"
    lines = [
        cells[at : at + columns].decode("ascii", "replace").rstrip(" \0")
        for at in range(0, len(cells), columns)
    ]
    return [line for line in lines if line]


def bright(picture: Path) -> int:
    """How many bytes of a PNG of QEMU's are not 0, its rows' filters not undone."""
    data, at, packed = picture.read_bytes(), 8, b""
    while at + 8 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += 12 + size
    rows = zlib.decompressobj().decompress(packed, 64 << 20)
    return len(rows) - rows.count(0)


def keysym(pc: Any, code: int) -> int:
    """What a key of the screens' keyboard gives (KDGKBENT)."""
    said = pc.say(
        "perl -e 'open F, q(<), q(/dev/tty1) or die; $b = pack(q(CCS), 0, "
        f"{code}, 0); ioctl(F, 0x4B46, $b) or die; print +(unpack q(CCS), $b)[2]'"
    )
    assert said.isdecimal(), f"the keyboard says {said!r}"
    return int(said)


def same_system(pc: Any, story: Any) -> None:
    """It is the system that the first PC that was asked has; [R8]."""
    found = {name: pc.say(line, 90) for name, line in SYSTEM.items()}
    story.system = story.system or found
    other = {n: (found[n], story.system[n]) for n in found if found[n] != story.system[n]}
    assert not other, f"not the same system as in another PC: {other} [R8]"


def nothing_was_run(pc: Any, bench: Any) -> None:
    assert "login:" not in pc.printed(), "a login is there, of a damaged system [R4]"
    assert not pc.wire.seen(), f"sent: {dict(pc.wire.seen())}; [R4]: nothing of it is run"
    pc.power_cut()
    assert not bench.unchanged(pc, {0: "spare"}), "a disk was written [R4]"

"""Who may do what on a unit: accounts, groups, set-uid programs, keys, and its console."""

from __future__ import annotations

import base64
import re
import secrets
import shlex
from pathlib import Path

from scripts import CAPABLE, NOT_DEBIANS, OPEN_DEVICES
from unit import Unit

from benchflow.bench import login_rules
from benchflow.boot import GuestError

SHELLS = ("bash", "dash", "sh", "ash", "ksh", "zsh", "busybox")

#: What reads and writes the first serial port (4:64) as its terminal.
ON_THE_CONSOLE = r"""
for stat in /proc/[0-9]*/stat; do
  { read -r line <"$stat"; } 2>/dev/null || continue
  set -- ${line##*) }
  [ "$5" = 1088 ] && readlink "${stat%/stat}/exe"
done; :
"""
AS_NOBODY = "su -s /bin/sh nobody -c 'echo {word} | su root -s /bin/sh -c \"id -u\"' </dev/null; :"
#: Public keys for SSH by how their bytes begin, whatever stands before them, in files of any size
#: that somebody would call small.
KEYS = r"""
find / /data /var /run -xdev -type f -size -8192k -exec grep -lasF -e AAAAC3NzaC1lZDI1NTE5 \
  -e AAAAB3NzaC1 -e AAAAE2VjZHNh -e AAAAGnNr -e AAAAInNr {} + 2>/dev/null | sort -u |
  while read -r f; do
    grep -saoHE 'AAAA(C3NzaC1l|B3NzaC1|E2VjZHNh|GnNr|InNr)[A-Za-z0-9+/]{40,}' "$f"
  done; :
"""


def accounts(unit: Unit) -> list[list[str]]:
    """The rows of /etc/passwd."""
    return login_rules.rows(unit.say("cat /etc/passwd"), 7)


def no_passwords(unit: Unit) -> None:
    """No account has one, and none is root by another name."""
    strange = login_rules.strange_roots(unit.say("cat /etc/passwd"), ["sync"])
    assert not strange, f"/etc/passwd has {strange[:3]} [R6]"
    for file, none in (("shadow", ("!", "*")), ("gshadow", ("!", "*", ""))):
        for line in unit.say(f"cat /etc/{file} 2>/dev/null; :").splitlines():
            name, password = [*line.split(":"), ""][:2]
            assert password[:1] in none, f"/etc/{file}: {name} has a password, or needs none [R6]"


def pam_is_debians(unit: Unit) -> None:
    """What lets somebody in is what Debian's PAM asks, in Debian's order."""
    text = unit.say("cat /etc/pam.conf /etc/pam.d/* 2>/dev/null; :")
    # As PAM reads it: lines may be continued, and its first words are of either case.
    strange = login_rules.strange_pam(re.sub(r"\\\n", " ", text).lower())
    assert not strange, f"PAM: {strange[0]!r} [R6]"


def no_other_roots(unit: Unit) -> None:
    """Nobody but root can do what root can: by a group, a program, or a rule."""
    others = login_rules.strange_members(unit.say("cat /etc/group"))
    assert not others, f"{others[0][1]} are in the group {others[0][0]} [R6]"
    found = unit.say(login_rules.FIND_SET_UID, seconds=120).splitlines()
    strange = login_rules.strange_set_uid(found)
    assert not strange, f"set-uid programs that are no package's of Debian's: {strange[:5]} [R6]"
    capable = unit.say(CAPABLE, seconds=180).splitlines()
    strange = login_rules.strange_set_uid(capable)
    assert not strange, f"programs with capabilities that Debian gives none: {strange[:5]} [R6]"
    paths = "".join(f"{path}\n" for path in dict.fromkeys([*found, *capable]))
    strange = unit.say(f"printf %s {shlex.quote(paths)} | ({NOT_DEBIANS})", seconds=180).split()
    assert not strange, f"not Debian's, by its packages: {strange[:5]}, with powers [R6]"
    devices = unit.say(OPEN_DEVICES).split()
    assert not devices, f"everybody may open {devices[:5]} [R6]"
    may = (
        "command -v sudo >/dev/null || exit 0; "
        "for u in $(cut -d : -f 1 /etc/passwd | grep -vx root); do "
        "LC_ALL=C sudo -l -U $u 2>/dev/null | grep -q 'may run' && echo $u; done; :"
    )
    assert unit.say(may, seconds=120) == "", "sudo lets others than root do something [R6]"
    said = unit.say(AS_NOBODY.format(word=secrets.token_hex(8)), seconds=120)
    assert said.splitlines()[-1:] != ["0"], "su lets nobody become root without a password [R6]"


def console_is_shut(unit: Unit) -> None:
    """Nobody gets in at the serial console: no shell is there, and no password opens."""
    there = [path.rsplit("/", 1)[-1] for path in unit.say(ON_THE_CONSOLE).split()]
    assert not set(there) & set(SHELLS[:-1]), f"a shell runs on the serial console: {there} [R6]"
    people = [row[0] for row in accounts(unit) if row[6].rsplit("/", 1)[-1] in SHELLS]
    for user in dict.fromkeys(["root", *people[:4]]):
        try:
            unit.machine.login(user, secrets.token_hex(8), timeout=60)
        except GuestError:
            continue
        raise AssertionError(f"the console lets {user} in with a password drawn by lot [R6]")
    # Whatever looks like a prompt there: what is typed is not done.
    typed = f"/run/typed-{secrets.token_hex(8)}"
    for line in ("", f": >{typed}", "", ""):
        unit.machine.send(f"{line}\r")
    seen = f"i=0; until [ -e {typed} ] || [ $i = 15 ]; do sleep 1; i=$((i+1)); done; ls {typed}; :"
    assert typed not in unit.say(f"({seen}) 2>/dev/null").split(), (
        "a shell at the serial console does what is typed there [R6]"
    )


def pairs(found: list[tuple[str, str, str]]) -> list[str]:
    """Files that are called as the public half of a key is."""
    paths = {path for path, _, _ in found}
    return sorted(path for path in paths if re.fullmatch(r"[\w./-]+\.pub", path))


def private_half(unit: Unit, public: str, key: str) -> bytes:
    """The file beside a public key's, where it is its private half; else nothing."""
    hexed = unit.say(f"od -An -v -tx1 {shlex.quote(public[:-4])} 2>/dev/null | tr -d ' \\n'; :")
    data = bytes.fromhex(hexed)
    text = b"".join(line for line in data.splitlines() if not line.startswith(b"--"))
    try:
        inside = base64.b64decode(text, validate=True)
    except ValueError:  # Dropbear's are bytes
        inside = data
    return data if base64.b64decode(key + "=" * (-len(key) % 4))[-32:] in inside else b""


def only_one_key(unit: Unit, customer: str, work: Path) -> None:
    """No key of anybody's lies where a log-in could look for it but the customer's."""
    found = [row.rpartition(":") for row in unit.say(KEYS, seconds=180).splitlines() if row]
    wanted = customer.split()[1].rstrip("=")
    strange = {key: path for path, _, key in found if key != wanted}
    for path in pairs(found):
        key = next(key for place, _, key in found if place == path)
        half = private_half(unit, path, key)
        if not half:
            continue
        # A unit's own, with its private half beside it: that opens nothing.
        strange.pop(key, None)
        own = work / "own"
        own.write_bytes(half)
        own.chmod(0o600)
        assert not unit.client.opens("root", own, 30), f"the key of {path} lets root in [R5]"
    assert not strange, f"keys that are not the customer's: {list(strange.values())[:3]} [R5]"

"""Who may do what on a unit: accounts, groups, set-uid programs, keys, and its console."""

from __future__ import annotations

import re
import secrets

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
KEYS = (
    r"find / /data /var /run -xdev -type f -size -64k -exec grep -EsHao "
    r"'(ssh-(rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+|sk-[a-z0-9.@-]+)"
    r" AAAA[A-Za-z0-9+/]{40,}' {} + 2>/dev/null | sort -u; :"
)


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
    strange = login_rules.strange_pam(unit.say("cat /etc/pam.conf /etc/pam.d/* 2>/dev/null; :"))
    assert not strange, f"PAM: {strange[0]!r} [R6]"


def no_other_roots(unit: Unit) -> None:
    """Nobody but root can do what root can: by a group, a program, or a rule."""
    others = login_rules.strange_members(unit.say("cat /etc/group"))
    assert not others, f"{others[0][1]} are in the group {others[0][0]} [R6]"
    found = unit.say(login_rules.FIND_SET_UID, seconds=120).splitlines()
    strange = login_rules.strange_set_uid(found)
    assert not strange, f"set-uid programs that are no package's of Debian's: {strange[:5]} [R6]"
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


def pairs(found: list[tuple[str, str, str]]) -> list[str]:
    """Files that are called as the public half of a key is."""
    paths = {path for path, _, _ in found}
    return sorted(path for path in paths if re.fullmatch(r"[\w./-]+\.pub", path))


def only_one_key(unit: Unit, customer: str) -> None:
    """No key of anybody's lies where a log-in could look for it but the customer's."""
    found = [row.partition(":") for row in unit.say(KEYS, seconds=120).splitlines() if row]
    # What lies beside its private half is the unit's own.
    own = unit.say("; ".join(f"[ -e {p[:-4]!r} ] && echo {p!r}" for p in pairs(found)) + "\n:")
    strange = {key.split()[1] for path, _, key in found if path not in own.split()} - {
        customer.split()[1]
    }
    assert not strange, f"keys that are not the customer's: {sorted(strange)[:2]} [R5]"

"""Who could get in, or become root, on a system of Debian's: what is Debian's own, and what is not.

Each function takes text or names as the system gives them and returns what is strange, so that a
check can ask a running machine or read its disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Set-uid and set-gid programs of Debian's packages; each asks for a right or for a password.
SET_UID = {
    "su", "mount", "umount", "passwd", "chfn", "chsh", "newgrp", "gpasswd", "chage", "expiry",
    "unix_chkpwd", "ssh-keysign", "ssh-agent", "dbus-daemon-launch-helper", "sudo", "sudoedit",
    "pkexec", "polkit-agent-helper-1", "fusermount3", "wall", "write", "bsd-write", "crontab",
    "dotlockfile", "utempter", "ntfs-3g", "ping", "newuidmap", "newgidmap",
}  # fmt: skip
#: Groups whose members can do what root can.
STRONG = {"root", "disk", "shadow", "sudo", "wheel", "kmem", "docker", "lxd"}
#: Modules of PAM that ask for something, and those that agree: these may never be enough.
ASKS = {
    "pam_unix", "pam_deny", "pam_faildelay", "pam_nologin", "pam_group", "pam_env", "pam_securetty",
    "pam_cap", "pam_shells", "pam_wheel", "pam_faillock", "pam_access", "pam_time", "pam_warn",
    "pam_issue", "pam_keyinit", "pam_umask", "pam_systemd", "pam_selinux", "pam_ecryptfs",
}  # fmt: skip
AGREES = {"pam_permit", "pam_succeed_if", "pam_listfile", "pam_localuser", "pam_echo", "pam_debug"}
_MERELY = {"required", "requisite", "optional"}
_AUTH = re.compile(r"\s*-?auth\s+(\[[^\]]*\]|\w+)\s+(?:\S*/)?(\w+)\.so\b")
_PROGRAMS = ("/usr/", "/bin/", "/sbin/")

#: Prints every set-uid and set-gid program of a running system.
FIND_SET_UID = (
    r"find / \( -path /proc -o -path /sys \) -prune -o -type f -perm /6000 -print 2>/dev/null; :"
)


def strange_pam(text: str) -> list[str]:
    """Lines of PAM's configuration by which somebody gets in whom Debian's would ask."""
    found = []
    for line in text.splitlines():
        rule = _AUTH.match(line)
        if not rule or rule[2] in ASKS or (rule[2] in AGREES and rule[1] in _MERELY):
            continue
        if (rule[1], rule[2]) != ("sufficient", "pam_rootok"):
            found.append(line)
    return found


def strange_set_uid(paths: Iterable[str]) -> list[str]:
    """Set-uid programs that are no package's of Debian's, or lie where Debian puts none."""
    return [
        path
        for path in paths
        if path.rsplit("/", 1)[-1] not in SET_UID or not path.startswith(_PROGRAMS)
    ]


def rows(text: str, fields: int = 0) -> list[list[str]]:
    """The lines of passwd, group or shadow. AssertionError where one has not so many fields."""
    found = [line.split(":") for line in text.splitlines() if line]
    if fields:
        odd = [row for row in found if len(row) != fields]
        assert not odd, f"other than {fields} fields: {':'.join(odd[0])!r}"
    return found


def strange_members(group: str, allowed: Iterable[str] = ("root",)) -> list[tuple[str, list[str]]]:
    """(group, members) of /etc/group where somebody but `allowed` can do what root can."""
    may = {"root", *allowed}
    found = []
    for row in rows(group):
        name, _, _, members = [*row, "", "", "", ""][:4]
        others = sorted({who for who in members.split(",") if who} - may)
        if name in STRONG and others:
            found.append((name, others))
    return found


def strange_roots(passwd: str, group_allowed: Iterable[str] = ("root",)) -> list[str]:
    """What in /etc/passwd makes somebody root by another name, or lets them in without a password.

    `group_allowed`: accounts that may have root's group.
    """
    found = []
    for row in rows(passwd, 7):
        if row[1] not in ("x", "*", "!"):
            found.append(f"a password, or none, for {row[0]}")
        if (row[2] == "0") != (row[0] == "root"):
            found.append(f"{row[0]} has the number {row[2]}")
        if row[3] == "0" and row[0] not in {"root", *group_allowed}:
            found.append(f"{row[0]} is in root's group")
    return found

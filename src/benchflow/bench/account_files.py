"""Who can log in by /etc/passwd and /etc/shadow, as the C library and BusyBox read them.

For systems on which one account alone may log in; `login_rules` is for those of Debian's.
"""

from __future__ import annotations

import re

from benchflow.boot.inspect.filesystem import FileSystem

#: A hash of crypt(3) of which the whole password counts; the oldest kind looks at eight letters.
_HASH = re.compile(r"[$_]\S+")


def _rows(files: FileSystem, path: str) -> list[list[str]]:
    if not files.exists(path) or files.stat(path).kind != "file":
        return []
    return [line.split(":") for line in files.read_text(path).splitlines() if line]


def ways_in(files: FileSystem) -> list[str]:
    """Every way in but root's one password, one line each; [] where there is none.

    Where there are no such files, only trying says who is let in.
    """
    shadow = {row[0]: row[1] for row in reversed(_rows(files, "/etc/shadow")) if len(row) > 1}
    found = []
    for name, password, *rest in (row for row in _rows(files, "/etc/passwd") if len(row) > 1):
        secret = shadow.get(name, "*") if password == "x" else password
        who = f"account {name!r} ({':'.join(rest[:2])})"
        if not secret:
            found.append(f"{who} needs no password")
        elif secret[0] in "*!":
            continue
        elif name != "root" or rest[:1] != ["0"]:
            found.append(f"{who} has a password of its own")
        elif not _HASH.fullmatch(secret):
            found.append(f"{who} has a password of which eight letters count, or one in clear")
    return found

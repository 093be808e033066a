"""Units that let people in, and what they run."""

import posixpath
import re
from collections.abc import Iterator

from benchflow.boot.inspect.ext4 import Ext4

# Who lets people in, by what they log in with; and where people get when the start fails. What is
# told to all services, or to all whose names begin alike, is told to these too.
_DOOR_UNITS = re.compile(
    r"/(sshd?|dbus|systemd-logind|console-getty|debug-shell|emergency|rescue|systemd-sulogin-shell"
    r"|(getty|autovt|serial-getty|container-getty|user|ssh)@[^/]*)\.(service|socket)(\.d/[^/]+)?$"
    r"|/((systemd|systemd-sulogin|console|debug|serial|container)-\.)?(service|socket)\.d/[^/]+$"
)
_UNIT_PLACES = (
    "/etc/systemd/system", "/etc/systemd/system.control", "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
)  # fmt: skip
_GENERATORS = ("/etc", "/usr/local/lib", "/usr/lib")
# A login prompt as Debian has it, at whatever speed.
_PROMPT = re.compile(
    r"ExecStart\s*=\s*(-?(/usr)?/sbin/agetty( (-o ['\"]?-p -- \\+u['\"]?|--noclear|--keep-baud|-L|-"
    r"|\d[\d,]*|%I|\$TERM|tty\w+|vt\d+|linux|xterm\S*|ansi|dumb))*)?"
)
_TERMINAL = re.compile(
    r"(?!(?!Exec)[A-Z]\w*\s*=).*(?<![\w-])(agetty|getty|sulogin|login)(?![\w.-])"
    r"|TTYPath|StandardInput\s*=\s*tty"
)
_SERVICE_LINE = re.compile(
    r"\s*(Exec|Environment|User|Group|PAM|Root|Bind|StandardInput|TTY|Listen)"
)
MERGED = re.compile(r"^/(bin|sbin|lib|lib64)/")
_PACKAGED: dict[Ext4, frozenset[str]] = {}


def units(system: Ext4) -> list[str]:
    """Units that let people in and do more, or other things, than their packages say.

    When such a unit starts is nobody's right; what it runs is. A mask lets nobody in.
    """
    wrong = [
        f"makes units at each start: {entry.path}"
        for top in _GENERATORS
        for kind in ("system-generators", "system-environment-generators")
        if system.exists(f"{top}/systemd/{kind}")
        for entry in system.walk(f"{top}/systemd/{kind}")
        if entry.path not in packaged(system)
    ]
    for top in _UNIT_PLACES:
        if not system.exists(top):
            continue
        for entry in system.walk(top):
            if entry.kind == "symlink":
                wrong += _of_link(system, entry.path)
            elif entry.kind == "file" and entry.path not in packaged(system):
                rows = system.read_text(entry.path).splitlines()
                told = [" ".join(row.split()) for row in rows if row.strip()[:1] not in "#;"]
                door = _DOOR_UNITS.search(entry.path[len(top) :])
                wrong += [f"{entry.path}: {line}" for line in told if _lets_in(line, bool(door))]
    return wrong


def _lets_in(line: str, door: bool) -> bool:
    """Whether a line of a unit that no package brought lets people in."""
    if _PROMPT.fullmatch(line):
        return False
    return bool(door and _SERVICE_LINE.match(line)) or bool(_TERMINAL.match(line))


def _of_link(system: Ext4, path: str) -> Iterator[str]:
    target = system.readlink(path)
    full = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if full == "/dev/null" or path in packaged(system):
        return
    names = (f"/{path.rpartition('/')[2]}", f"/{full.rpartition('/')[2]}")
    shipped = re.fullmatch(r"(/usr)?/lib/systemd/system/[^/]+", full)
    shell = names[1] == "/debug-shell.service"  # it asks nobody for a password
    if shell or (any(map(_DOOR_UNITS.search, names)) and not shipped):
        yield f"{path} -> {target}"


def packaged(system: Ext4) -> frozenset[str]:
    """Every path that dpkg's packages brought."""
    if system not in _PACKAGED:
        found = set()
        for entry, content in system.contents("/var/lib/dpkg/info"):
            if entry.path.endswith(".list"):
                found.update(content.decode(errors="replace").splitlines())
        _PACKAGED[system] = frozenset(MERGED.sub(r"/usr/\1/", path) for path in found)
    return _PACKAGED[system]

"""The Debian packages in which everything lies."""

from __future__ import annotations

import secrets

from unit import Station, factorial

OURS = "$(dpkg-query -W -f '${Package}\\n' '*kvarn*')"


def every_file(unit: Station) -> None:
    found = unit.say(
        "find /usr/bin /usr/lib /usr/include -name '*kvarn*' ! -type d -printf '%y %p\\n'"
    )
    kinds = {path: kind for kind, path in (line.split() for line in found.splitlines())}
    module = any(path.endswith("kvarn.ko") or "/kvarn.ko." in path for path in kinds)
    assert module and {"/usr/bin/kvarn", "/usr/include/kvarn.h"} <= set(kinds), (
        f"[R34] what you made: module, tool and header are not all among {sorted(kinds)}"
    )
    info = unit.say(
        f"cd /var/lib/dpkg/info; for p in {OURS}; do cat $p.list $p.md5sums $p:amd64.list "
        "$p:amd64.md5sums; done 2>/dev/null; :"
    )
    # /lib is a link to /usr/lib, and packages may name either.
    listed = {line.removeprefix("/usr") for line in info.splitlines() if line.startswith("/")}
    known = {"/" + line[34:].removeprefix("usr/") for line in info.splitlines()}
    for path, kind in kinds.items():
        short = path.removeprefix("/usr")
        assert short in listed, f"[R34] belongs to one of them: {path} to no package of yours"
        assert kind == "l" or short in known, f"[R34] knows their checksums: none of {path}"
    said = unit.say(f"dpkg --verify {OURS}")
    assert said == "", f"[R34] finds nothing wrong: {said!r}"


def purged_and_installed(unit: Station) -> None:
    there = unit.status("ls /srv/kvarn/*.deb") == 0
    assert there, "[R34] the .deb files lie in /srv/kvarn/: there are none"
    unit.say(f"dpkg --purge {OURS} >/tmp/purge.log 2>&1; udevadm settle", 120)
    left = unit.say(
        "ls -d /sys/module/kvarn /dev/kvarn* /usr/bin/kvarn /usr/lib/*/libkvarn* "
        "/usr/lib/libkvarn* 2>/dev/null; find /lib/modules/ -name 'kvarn.ko*'; :"
    )
    assert left == "", f"[R34] leaves no module, node, tool and library: {left.split()}"
    group = unit.say("getent group kvarn || echo gone")
    assert "anna" in group, f"[R34] the group kvarn and its members stay: {group}"
    unit.say("dpkg --install /srv/kvarn/*.deb >/tmp/install.log 2>&1; udevadm settle", 180)
    for slot in unit.slots:
        shown = unit.say(f"stat -c '%U %G %a' /dev/kvarn-{slot} || cat /tmp/install.log")
        assert shown == "root kvarn 660", f"[R34] brings everything back: {shown[-300:]}"
        n = secrets.randbelow(30)
        said = unit.anna(f"kvarn -c {slot} fact {n}")
        assert said == str(factorial(n)), f"[R34] brings everything back: {n}! is {said!r}"

"""Memory that is lacking: whose fault it is, and a bound on what this process may take itself.

A deliverable can say that it is 16 TiB large, and Python believes it. What this process may have is
bounded below what the verifier has, so that such a wish ends as an exception in the check that made
it, and the kernel never has to choose somebody to kill.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

OWN_MB = 1280  # this process; twice and a half of the largest archive that is read (archive.LIMIT)
TOOL_MB = 1024  # one program that reads a hostile file (bounded_run.py)
QEMU_MB = 512  # one QEMU beside its guest's memory: 128 of translated code, flash, its own
_SCARCE_MB = 128
_NEAR = 0.9
_MEMINFO = Path("/proc/meminfo")
_GROUPS = Path("/sys/fs/cgroup")


def bound_own() -> None:
    """Let this process have `OWN_MB` at most; what it starts may have more (`unbound`)."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = OWN_MB << 20
    if most == resource.RLIM_INFINITY or most > wanted:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def unbound() -> str:
    """The option of prlimit(1) with which a program gets what this process might have had."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    return f"--data={'unlimited' if most == resource.RLIM_INFINITY else most}"


def scarce() -> bool:
    """Whether memory lacks around this process, so that a lack of it is nobody's doing inside.

    Near the limit of its control group, where that can be seen; or on the host, which has almost
    nothing left to give or to promise (proc(5), meminfo and overcommit_memory).
    """
    return _group_is_full() or _host_is_full()


def _host_is_full() -> bool:
    try:
        known = dict(re.findall(r"^(\w+): +(\d+) kB", _MEMINFO.read_text(), re.MULTILINE))
        strict = Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2"
        promised = int(known["Committed_AS"]) > _NEAR * int(known["CommitLimit"])
        return int(known["MemAvailable"]) < _SCARCE_MB << 10 or (strict and promised)
    except (OSError, KeyError):
        return False


def _group_is_full() -> bool:
    """What programs hold is compared, not what caches files: that is given up first."""
    for limit, held, field in (
        ("memory.max", "memory.stat", "anon"),
        ("memory/memory.limit_in_bytes", "memory/memory.stat", "total_rss"),
    ):
        try:
            most = (_GROUPS / limit).read_text().strip()
            found = re.search(rf"^{field} (\d+)", (_GROUPS / held).read_text(), re.MULTILINE)
        except OSError:
            continue
        if most.isdigit() and found and int(found[1]) > _NEAR * int(most):
            return True
    return False

"""What a running sandbox shows of the work in it, read from /proc of the host.

All of it is written by hostile programs: nothing here follows a link of theirs, waits for them, or
believes more than that a number changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from itertools import islice
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
#: Entries of a log folder that are looked at; one that has more shows itself by other signs.
_MOST_ENTRIES = 500


def cpu_seconds(init_pid: int) -> float:
    """Processor seconds used so far by process `init_pid`, all that descends from it and all that
    it has buried (proc(5), /proc/pid/stat, fields 14-17). It may go down when a program ends whose
    parent does not wait for it."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(pid)
        used[pid] = sum(int(field) for field in fields[11:15])
    total, waiting = 0, [init_pid]
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0)
        waiting += children.get(pid, [])
    return total / _TICK


def received_bytes(init_pid: int) -> int:
    """Bytes that came into the network namespace of a process from outside (loopback left out)."""
    try:
        lines = Path(f"/proc/{init_pid}/net/dev").read_text().splitlines()[2:]
    except OSError:
        return 0
    split = (line.partition(":") for line in lines)
    return sum(int(rest.split()[0]) for name, _, rest in split if name.strip() != "lo")


def log_state(root: str | Path, *below: str) -> tuple[int, int, int]:
    """Files, bytes and the latest change (ns) of a log folder `below` a root, with its
    subfolders. Zeros where there is none. `/proc/PID/root` is a root too: that of a sandbox."""
    with contextlib.ExitStack() as stack:
        try:
            folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, folder)
            for name in below:
                folder = _enter(folder, name)
                stack.callback(os.close, folder)
        except OSError:
            return (0, 0, 0)
        return _measure(folder)


def _enter(folder: int, name: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, dir_fd=folder)


def _measure(top: int) -> tuple[int, int, int]:
    files = size = latest = 0
    with contextlib.ExitStack() as stack:
        waiting = [top]
        while waiting and files < _MOST_ENTRIES:
            folder = waiting.pop()
            with os.scandir(folder) as entries:
                for entry in islice(entries, _MOST_ENTRIES - files):
                    try:
                        found = entry.stat(follow_symlinks=False)
                        files, size = files + 1, size + found.st_size
                        latest = max(latest, found.st_mtime_ns)
                        if stat.S_ISDIR(found.st_mode):
                            waiting.append(_enter(folder, entry.name))
                            stack.callback(os.close, waiting[-1])
                    except OSError:
                        continue
    return files, size, latest

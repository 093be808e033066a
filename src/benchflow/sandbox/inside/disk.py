"""The limit on what a sandbox writes: its writable layer is measured again and again.

There is no quota that a plain user could set on any file system, so this looks: at least every
second, more rarely where the tree is large (a scan never takes more than a twentieth of the
time). Beyond the limit every command is killed, and again each time that it still grows.
"""

from __future__ import annotations

import os
import time

from benchflow.sandbox.inside import execs

_PAUSE = 1.0
_SHARE = 20
RECORD = "disk"


class Watch:
    """Measures one directory for the helper outside, which `tick`s it."""

    def __init__(self, state: str, limit: int, init_pid: int) -> None:
        self._state = state
        self._allowed = limit
        self._init = init_pid
        self._peak = -1
        self._kills = 0

    def tick(self) -> float:
        """Measure and act; the seconds to wait until the next time."""
        begin = time.monotonic()
        used = stored_bytes(f"{self._state}/upper")
        if used > self._allowed:
            self._kills += 1
            execs.kill_tree(lambda: execs.descendants(self._init), reap=False)
            # What was written until the kill is no new growth: the next command, which may be the
            # one that makes room, must not die of it.
            used = max(used, stored_bytes(f"{self._state}/upper"))
            self._allowed = used
        if used > self._peak:
            self._peak = used
            self._record()
        return max(_PAUSE, _SHARE * (time.monotonic() - begin))

    def _record(self) -> None:
        draft = os.open(f"{self._state}/.{RECORD}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(draft, f"{self._peak} {self._kills}".encode())
        os.close(draft)
        os.rename(f"{self._state}/.{RECORD}", f"{self._state}/{RECORD}")  # noqa: PTH104


def stored_bytes(root: str) -> int:
    """Bytes that the files below `root` take on the disk; what vanishes meanwhile counts for
    nothing, and a file with several names counts once for each."""
    total = 0
    queue = [root]
    while queue:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in entries:
                    info = entry.stat(follow_symlinks=False)
                    total += info.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except OSError:
            continue
    return total

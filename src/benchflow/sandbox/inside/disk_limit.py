"""The limit on what a sandbox writes: its writable layer is measured again and again.

There is no quota that a plain user could set on any file system, so this looks: at least every
second, more rarely where the tree is large (a scan takes no more than a twentieth of the time, but
there is one every half a minute). Beyond the limit every command is killed, and again each time
that it still grows. What is open and has no name any more is not seen.
"""

from __future__ import annotations

import os
import time

from benchflow.sandbox.inside import exec_warden

_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_SHARE = 20
_HELD = 256  # descriptors, of the 1024 that a process usually may have
_CWD = -100  # AT_FDCWD
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
RECORD = "disk"
TYPE_CHECKING = False
if TYPE_CHECKING:
    type _Chain = tuple[_Chain | None, str]


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
            exec_warden.kill_tree(lambda: exec_warden.descendants(self._init), reap=False)
            # What was written until the kill is no new growth: the next command, which may be the
            # one that makes room, must not die of it.
            used = max(used, stored_bytes(f"{self._state}/upper"))
            self._allowed = used
        if used > self._peak:
            self._peak = used
            self._record()
        return max(_PAUSE, min(_SHARE * (time.monotonic() - begin), _LONGEST_PAUSE))

    def _record(self) -> None:
        draft = os.open(f"{self._state}/.{RECORD}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(draft, f"{self._peak} {self._kills}".encode())
        os.close(draft)
        os.rename(f"{self._state}/.{RECORD}", f"{self._state}/{RECORD}")  # noqa: PTH104


def stored_bytes(root: str) -> int:
    """Bytes that the files below `root` take on the disk; what vanishes meanwhile counts for
    nothing, and a file with several names counts once for each.

    Each directory is opened from the one above, for no path may be longer than PATH_MAX, and a
    tree can be deeper. A directory is a chain of names: (the one above, its own name).
    """
    total = 0
    queue: list[_Chain] = [(None, root)]
    while queue:
        chain = queue.pop()
        held = [(_open(chain), chain, [""])]
        while held:
            above, chain, names = held[-1]
            name = names.pop()
            below = _open_at(name or ".", above)
            if not names:  # so that a chain of directories holds one descriptor, however long it is
                held.pop()
                _close(above)
            if below < 0:
                continue
            stored, children = _read(below)
            total += stored
            if not children:
                _close(below)
                continue
            if len(held) == _HELD:
                far, where, left = held.pop(0)
                _close(far)
                queue += [(where, child) for child in left]
            held.append((below, (chain, name) if name else chain, children))
    return total


def _open(chain: _Chain) -> int:
    """The directory; -1 when it is gone."""
    names: list[str] = []
    left: _Chain | None = chain
    while left is not None:
        left, name = left
        names.append(name)
    fd = _open_at(names.pop(), _CWD)
    while names:
        above, fd = fd, _open_at(names.pop(), fd)
        _close(above)
    return fd


def _open_at(name: str, above: int) -> int:
    try:
        return os.open(name, _FLAGS, dir_fd=above)
    except OSError:  # EBADF, too: the one above was gone
        return -1


def _close(fd: int) -> None:
    if fd >= 0:
        os.close(fd)


def _read(directory: int) -> tuple[int, list[str]]:
    """Bytes of what is directly in a directory, and the names of the directories among it."""
    total, children = 0, []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        children.append(entry.name)
                except OSError:
                    continue
    except OSError:
        pass
    return total, children

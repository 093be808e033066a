"""What a server may take whose clients are guests: memory, disk and files; who takes more ends it.

A guest that has the server's password can store what it likes, have rows made there by the million
and sort them in memory. That is what was delivered, never the verifier's fault.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

DISK_MAX, FILES_MAX, MEMORY_MAX = 1 << 30, 20_000, 768 << 20
#: What a process of it may have of its own memory (setrlimit(2), RLIMIT_DATA): between two looks
#: one alone cannot take what the verifier has.
PROCESS_MAX = 512 << 20
_LOOK_SECONDS = 0.2


class Guard:
    """Looks at a server and at its folder until it ends; `why` is what it was ended for."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, name: str) -> None:
        self.why = ""
        self._process, self._folder, self._name = process, folder, name
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while self._process.poll() is None:
            for took, most, of in (
                (memory(self._process.pid) >> 20, MEMORY_MAX >> 20, "MiB of memory"),
                *self._stored(),
            ):
                if took > most:
                    self.why = f"clients made {self._name} take over {most:,} {of}"
                    end(self._process.pid)
                    return
            time.sleep(_LOOK_SECONDS)

    def _stored(self) -> tuple[tuple[int, int, str], ...]:
        size, files = stored(self._folder)
        return (size >> 20, DISK_MAX >> 20, "MiB of disk"), (files, FILES_MAX, "files")


def stored(folder: Path) -> tuple[int, int]:
    """Bytes on disk below a folder and how many files, whatever comes and goes meanwhile."""
    size = files = 0
    folders = [os.fspath(folder)]
    while folders and files <= FILES_MAX:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in found:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    files += 1
    return size, files


def processes(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, children.read_text().split())
    return found


def memory(pid: int) -> int:
    """Bytes of their own that a process and those below it have in memory (proc(5), RssAnon)."""
    total = 0
    for one in processes(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    total += int(line.split()[1]) << 10
    return total


def end(pid: int) -> None:
    """Kill a process and all below it; stopped first, it starts no more of them."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
    for one in reversed(processes(pid)):
        with contextlib.suppress(OSError):
            os.kill(one, signal.SIGKILL)

"""A server that a verifier plays: a program of Debian's on the loopback, with keys of this run.

What a task's `tests/image/build.sh` has to install is in each module's `PACKAGES`. A guest with
`Nic(restrict=False)` finds the loopback as 10.0.2.2, or as the second address of another network.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from benchflow.bench.service_guard import PROCESS_MAX, Guard
from benchflow.boot.errors import BootError, GuestOverrun, ToolMissing, VerifierBroken

START_SECONDS = 60.0
_SAID_MAX = 2000


def free_port() -> int:
    """A TCP port of the loopback on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str, *places: str) -> str:
    """Where a program is, in one of some further folders too. Raises ToolMissing."""
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if found is None:
        raise ToolMissing(f"{name} is not installed")
    return found


class LocalService:
    """One server process with a folder of its own, as `user` where this process is root.

    What its clients may make it take is bounded (`service_guard`): above it, it is ended, and all
    that is asked of it raises GuestOverrun.
    """

    def __init__(self, user: str) -> None:
        self.port = free_port()
        self._as: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="bench-service-", dir="/var/tmp"))
        if os.geteuid() == 0:
            try:
                owner = pwd.getpwnam(user)
            except KeyError:
                raise ToolMissing(f"there is no user {user}: its package is missing") from None
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self._as = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}"]
            self._as.append("--clear-groups")
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    def run_tool(
        self,
        command: Sequence[str],
        *,
        text: str = "",
        seconds: float = 60,
        bounds: Sequence[str] = (),
    ) -> str:
        """What a program of ours prints, within the `bounds` of prlimit(1). Raises what `broken`
        says where it fails or does not end."""
        # What it prints may be a guest's: it goes into files, which can be bounded.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                done = subprocess.run(
                    [*self._as, "prlimit", *bounds, *command] if bounds else [*self._as, *command],
                    input=text.encode(),
                    stdout=out,
                    stderr=err,
                    check=False,
                    timeout=seconds,
                    cwd=self.folder,
                    env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
                )
            except subprocess.TimeoutExpired:
                raise self.broken(f"{command[0]} did not end in {seconds:g} seconds") from None
            said = [_all_of(file) for file in (out, err)]
        if done.returncode:
            last = (said[1] or said[0])[-_SAID_MAX:]
            raise self.broken(f"{command[0]} ended with {done.returncode}", last)
        return said[0]

    def broken(self, message: str, said: str = "") -> BootError:
        """Whose fault it is that the server does not do what it has to: its clients' where they
        made it take too much, else the verifier's."""
        if self._guard is not None and self._guard.why:
            return GuestOverrun(self._guard.why, evidence=said)
        return VerifierBroken(message, evidence=said)

    def launch(self, command: Sequence[str], ready: Callable[[], bool], *, text: str = "") -> None:
        """Start the server, and wait until it is ready.

        Raises VerifierBroken where it is not, GuestOverrun where it was ended for good.
        """
        name = Path(command[0]).name
        if self._guard is not None and self._guard.why:
            raise self.broken(f"{name} is not started again")
        log = (self.folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                ["prlimit", f"--data={PROCESS_MAX}", *self._as, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        self._guard = Guard(self._process, self.folder, name)
        assert self._process.stdin
        with self._process.stdin as given:
            given.write(text.encode())
        end = time.monotonic() + START_SECONDS
        while not ready():
            if self._process.poll() is not None or time.monotonic() > end:
                said = (self.folder / "log").read_text(errors="replace")[-_SAID_MAX:]
                raise self.broken(f"{name} does not start", said)
            time.sleep(0.1)

    def answers(self) -> bool:
        """Whether something takes connections at the port."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5):
            return True
        return False

    def stop(self) -> None:
        """End the server; its data stay for another start."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")

"""Which host ids the users of a sandbox are: 65,536 of them, and never 0 or the caller's own.

As root the range is fixed, so that all sandboxes of a host share their unpacked layers:
2,000,000,000 is in the part of the id space that systemd's table of uid ranges leaves unused
(above container ranges, below 2^31, which some tools treat as negative). A plain user gets the
first large enough range that /etc/subuid and /etc/subgid grant, through newuidmap and newgidmap.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InfrastructureError, MissingTool

SIZE = 65_536
ROOT_BASE = 2_000_000_000


@dataclass(frozen=True, slots=True)
class IdMap:
    """Ids 0..65535 inside are `uid_base`.. and `gid_base`.. on the host."""

    uid_base: int
    gid_base: int
    privileged: bool

    @property
    def name(self) -> str:
        """Names the directory of the layers that were unpacked in this map."""
        if self.uid_base == self.gid_base:
            return str(self.uid_base)
        return f"{self.uid_base}-{self.gid_base}"

    def write(self, pid: int) -> None:
        """Give the process `pid`, which has just made a user namespace, this map."""
        if self.privileged:
            for kind, base in (("uid", self.uid_base), ("gid", self.gid_base)):
                try:
                    Path(f"/proc/{pid}/{kind}_map").write_text(f"0 {base} {SIZE}\n")
                except OSError as error:
                    raise InfrastructureError(
                        f"the kernel refused to map {SIZE} {kind}s from {base}: {error.strerror}",
                        hint="run outside the container or user namespace that limits root here",
                    ) from error
            return
        for kind, base in (("uid", self.uid_base), ("gid", self.gid_base)):
            tool = f"new{kind}map"
            done = subprocess.run(
                [tool, str(pid), "0", str(base), str(SIZE)], capture_output=True, text=True
            )
            if done.returncode:
                raise InfrastructureError(
                    f"{tool} failed: {done.stderr.strip()}",
                    hint=f"check /etc/sub{kind} and that {tool} is set-uid root",
                )


def current() -> IdMap:
    """The map for the caller: root's fixed range, or the caller's subordinate ids."""
    if os.geteuid() == 0:
        return IdMap(ROOT_BASE, ROOT_BASE, privileged=True)
    for tool in ("newuidmap", "newgidmap"):
        if shutil.which(tool) is None:
            raise MissingTool(f"{tool} is not installed", hint="apt-get install uidmap")
    return IdMap(_subordinate("/etc/subuid"), _subordinate("/etc/subgid"), privileged=False)


def grants(table: str) -> int | None:
    """The first id of the range of `SIZE` that `table` grants the caller; None without one."""
    uid = str(os.getuid())
    try:
        lines = Path(table).read_text().splitlines()
    except FileNotFoundError:
        return None
    for line in lines:
        owner, _, rest = line.partition(":")
        start, _, count = rest.partition(":")
        if owner in (user(), uid) and count.strip().isdigit() and int(count) >= SIZE:
            return int(start)
    return None


def user() -> str:
    """The caller's name; the number where no table has a name for it, as in many containers."""
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _subordinate(table: str) -> int:
    start = grants(table)
    if start is not None:
        return start
    flag = "--add-subuids" if table == "/etc/subuid" else "--add-subgids"
    raise MissingTool(
        f"{table} grants {user()} no range of {SIZE} ids",
        hint=f"as root: usermod {flag} 1000000000-1000065535 {user()}",
    )

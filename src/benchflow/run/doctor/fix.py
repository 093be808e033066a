"""What `doctor --fix` does about what it found: Debian packages, ranges of ids, kernel modules.

It loosens no protection of the machine: what a kernel setting or a container forbids stays
forbidden, and the check's hint says how to allow it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InfrastructureError
from benchflow.run.doctor.check import Check, State
from benchflow.sandbox import idmap

_FIRST_ID = 100_000  # SUB_UID_MIN of Debian's login.defs(5)
#: Also where a plain user's PATH lacks them.
_SBIN = "/usr/sbin:/sbin"


@dataclass(frozen=True)
class Step:
    """One command, as root, and what it is for."""

    command: tuple[str, ...]
    may_fail: bool = False  # the next step shows whether that mattered

    def __str__(self) -> str:
        return shlex.join(self.command)


def steps(found: Iterable[Check]) -> list[Step]:
    """What would fix what is missing or broken in `found`, as far as this can be done here."""
    bad = [c for c in found if c.state in (State.MISSING, State.BROKEN)]
    packages = sorted({c.package for c in bad if c.package})
    planned = []
    if packages:
        planned.append(Step(("apt-get", "-q", "update"), may_fail=True))
        install = ("apt-get", "-q", "-y", "--no-install-recommends", "install")
        planned.append(Step((*install, *packages)))
    if any(c.name == "id maps" for c in bad) and os.geteuid() != 0:
        planned += _ranges()
    modules = sorted({c.module for c in bad if c.module})
    return planned + [Step(("modprobe", name)) for name in modules]


def apply(step: Step) -> None:
    """Do it, as root or through sudo. Raises InfrastructureError with what to do by hand."""
    command = list(step.command)
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise InfrastructureError(
                f"{step}: needs root, and there is no sudo",
                hint=f"ask an administrator to run: {step}",
            )
        command = ["sudo", *command]
    path = f"{os.environ.get('PATH', '')}:{_SBIN}"
    environment = {**os.environ, "PATH": path, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise InfrastructureError(
            f"{command[0]}: {error.strerror}", hint=f"as root: {step}"
        ) from error
    if done.returncode and not step.may_fail:
        said = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise InfrastructureError(f"{step}: {said}", hint=f"as root: {step}")


def free_range(table: str) -> tuple[int, int]:
    """First and last of `idmap.SIZE` ids that no line of a subuid(5) table grants to anybody."""
    granted = (re.fullmatch(r"[^:]+:(\d+):(\d+)", line.strip()) for line in table.splitlines())
    ends = [int(line[1]) + int(line[2]) for line in granted if line]
    first = max([_FIRST_ID, *ends])
    return first, first + idmap.SIZE - 1


def _ranges() -> list[Step]:
    """For each of the two tables that grants the caller too little: one range more."""
    user = idmap.user()
    planned = []
    for table, option in (("/etc/subuid", "--add-subuids"), ("/etc/subgid", "--add-subgids")):
        if idmap.grants(table) is None:
            path = Path(table)
            first, last = free_range(path.read_text() if path.exists() else "")
            planned.append(Step(("usermod", option, f"{first}-{last}", user)))
    return planned

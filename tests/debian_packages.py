"""Debian's packages that tests use, from the tables of scripts/setup.sh, and their programs."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

_SETUP = Path(__file__).parents[1] / "scripts/setup.sh"
_TABLE = re.compile(r"^BENCHFLOW\w*_PACKAGES='\n(.*?)^'", re.MULTILINE | re.DOTALL)
#: More programs of the same packages that tests start; the tables have one of each.
_MORE = {
    "binutils": ("as", "ld", "objcopy", "objdump", "strip"),
    "e2fsprogs": ("debugfs", "dumpe2fs", "e2fsck", "resize2fs", "tune2fs"),
    "fdisk": ("fdisk",),
    "gcc": ("cc", "as", "ld"),  # it starts those of binutils, which it depends on
    "mtools": ("mdir", "mformat", "mmd", "mtype"),
    "openssh-client": ("ssh-keygen",),
    "uidmap": ("newgidmap",),
}


def _read() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for table in _TABLE.findall(_SETUP.read_text()):
        for line in table.split():
            looked_for, _, package = line.rpartition(":")
            found[package] = (*found.get(package, ()), looked_for)
    return {package: (*names, *_MORE.get(package, ())) for package, names in found.items()}


#: Package → what it is known by: names of programs, paths of files.
PACKAGES = _read()


def programs(package: str) -> tuple[str, ...]:
    """What a test that needs `package` may start."""
    return tuple(name for name in PACKAGES.get(package, ()) if not name.startswith("/"))


def program(name: str) -> str | None:
    """Where `name` is installed; a plain user's PATH does not lead everywhere."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def lacking(package: str) -> str:
    """What is missing of `package`; "" if nothing is."""
    for name in PACKAGES[package]:
        if not (Path(name).exists() if name.startswith("/") else program(name)):
            return f"needs {name}, which is not installed (apt-get install {package})"
    return ""

"""What two machines must have in common to run trials of one job, and what each says of itself."""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import benchflow
from benchflow import __version__
from benchflow.base.home import home

#: Of a node's clock against the driver's, message included: certificates, logs and limits hold.
MOST_SECONDS_OFF = 60.0
#: A trial is begun with this much room beyond what its agent may write.
LEAST_FREE_MB = 1024
#: A trial that ended as an error with less room than this ended for want of it.
FULL_MB = 256


def ours() -> dict[str, str]:
    """Versions and contents that must be equal on driver and node."""
    from importlib.metadata import version

    return {
        "benchflow": __version__,
        "the code of benchflow": code_digest()[:12],
        "Harbor": version("harbor"),
        "machine": platform.machine(),
    }


@cache
def code_digest() -> str:
    """All of our own code on this machine: two checkouts of one version differ by it."""
    top = Path(benchflow.__file__).parent
    total = hashlib.sha256()
    for path in sorted(top.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{content} {path.relative_to(top).as_posix()}\n".encode())
    return total.hexdigest()


def difference(theirs: Mapping[str, str]) -> str:
    """What differs here from `theirs`, as a sentence; "" where nothing does."""
    mine = ours()
    told = [
        f"{what} is {mine.get(what)} here and {value} at the driver"
        for what, value in theirs.items()
        if mine.get(what) != value
    ]
    return "; ".join(told)


def free_mb() -> int:
    """Room where this machine keeps sandboxes and images, in MiB."""
    return shutil.disk_usage(home()).free >> 20

"""The host's speed, measured once per process; deadlines are scaled by it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache

from .firmware import program


@dataclass(frozen=True)
class Host:
    """What was found out about the host. `speed`: 1.0 = the reference host, 0.5 = half as fast."""

    speed: float
    accelerator: str
    qemu_version: str


@cache
def measure(arch: str) -> Host:
    """The host as it serves guests of `arch`."""
    output = subprocess.run(
        [program(arch), "--version"], capture_output=True, text=True, check=True
    )
    version = re.search(r"version (\S+)", output.stdout)
    return Host(
        float(os.environ.get("BENCHFLOW_HOST_SPEED", "1.0")),
        os.environ.get("BENCHFLOW_ACCEL", "tcg"),
        version[1] if version else "unknown",
    )

"""What this verifier has: versions of every tool that checks may need."""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import Any

from benchflow.boot.sanitize import first_line

_TOOLS = {
    "qemu-system-x86_64": ["--version"],
    "qemu-system-aarch64": ["--version"],
    "qemu-system-riscv64": ["--version"],
    "qemu-img": ["--version"],
    "sfdisk": ["--version"],
    "debugfs": ["-V"],
    "dumpe2fs": ["-V"],
    "mdir": ["--version"],
    "xorriso": ["--version"],
    "7z": ["i"],
    "xz": ["--version"],
    "zstd": ["--version"],
    "cpio": ["--version"],
    "readelf": ["--version"],
    "ssh": ["-V"],
    "curl": ["--version"],
}


def selfcheck() -> dict[str, Any]:
    """Python, pytest and the first version line of each tool; None where one is missing."""
    import pexpect
    import pytest

    return {
        "schema": 1,
        "python": platform.python_version(),
        "pytest": pytest.__version__,
        "pexpect": pexpect.__version__,
        "machine": platform.machine(),
        "tools": {tool: _version(tool, arguments) for tool, arguments in _TOOLS.items()},
    }


def _version(tool: str, arguments: list[str]) -> str | None:
    path = shutil.which(tool)
    if path is None:
        return None
    done = subprocess.run(
        [path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=20,
        check=False,
    )
    return first_line(done.stdout.decode(errors="replace"))

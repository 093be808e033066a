"""One thing that a machine can or cannot do."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum

from benchflow.errors import BenchflowError


class State(StrEnum):
    """`optional`: absent, and the main job does without."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"
    OPTIONAL = "optional"


@dataclass(frozen=True)
class Check:
    """`hint` says how to fix it; `needed`: the main job cannot run without.

    `package` (Debian's) and `module` (the kernel's): what `doctor --fix` brings for it (`fix`).
    """

    name: str
    state: State
    detail: str = ""
    hint: str = ""
    needed: bool = True
    package: str = ""
    module: str = ""


def failed(name: str, error: Exception) -> Check:
    """The check whose trial ended with an exception."""
    hint = error.hint if isinstance(error, BenchflowError) else ""
    return Check(name, State.BROKEN, f"{error}" or type(error).__name__, hint)


def first_line(command: list[str], seconds: float = 60) -> str:
    """The first line that a command prints; "" when it is absent, fails or says nothing."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else ""

"""Runs a package manager, and says in one sentence why it failed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchflow.errors import InfrastructureError

_KEPT = 600


def run(
    command: Sequence[str],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What the command printed. Raises InfrastructureError with the end of what it complained."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise InfrastructureError(
            f"{what}: {(done.stderr or done.stdout).strip()[-_KEPT:]}",
            hint="check the network and the package manager's own configuration, then try again",
        )
    return done.stdout

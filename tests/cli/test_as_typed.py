"""Hints name the command as it was called, where the shell would not find `benchflow`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("benchflow")


def hint(*command: str, path: str, cwd: Path) -> str:
    ended = subprocess.run(
        [*command, "run", "no/such-task"], capture_output=True, text=True, cwd=cwd,
        env={**os.environ, "PATH": path}, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    return next(line for line in ended.stderr.splitlines() if line.startswith("hint:"))


def test_a_hint_can_be_typed(tmp_path: Path) -> None:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/benchflow").symlink_to(PROGRAM)
    bare = str(Path(shutil.which("env") or "/usr/bin/env").parent)
    relative = hint(".venv/bin/benchflow", path=bare, cwd=tmp_path)
    assert ".venv/bin/benchflow tasks" in relative
    active = f"{PROGRAM.parent}:{bare}"
    assert ".venv" not in hint(str(PROGRAM), path=active, cwd=tmp_path)
    assert "benchflow tasks" in hint("benchflow", path=active, cwd=tmp_path)

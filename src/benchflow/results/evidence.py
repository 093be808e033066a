"""What there is to look at in a trial's folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_EVIDENCE = (
    "verifier/milestones.json",
    "verifier/test-stdout.txt",
    "trial.log",
    "exception.txt",
    "agent",
    "artifacts",
)


def evidence_in(path: Path) -> dict[str, Path]:
    """What there is to look at in a trial's folder: path below it → path."""
    here = {child.name for child in path.iterdir()}
    found = {
        name: path / name
        for name in _EVIDENCE
        if name.partition("/")[0] in here and holds_something(path / name)
    }
    folders = [path / "verifier"] if "verifier" in here else []
    folders += sorted((path / "steps").glob("*/verifier")) if "steps" in here else []
    for folder in folders:
        children = folder.iterdir() if folder.is_dir() else iter(())
        for cast in sorted(p for p in children if p.name.endswith("console.cast")):
            found[cast.relative_to(path).as_posix()] = cast
    return found


def holds_something(path: Path) -> bool:
    """Whether `path` is a file or folder, no link, and not empty."""
    try:
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(path) as entries:
                return next(entries, None) is not None
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0

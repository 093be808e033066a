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
    for cast in _of_verifiers(path, here, "console.cast"):
        found[cast.relative_to(path).as_posix()] = cast
    return found


def qemu_records(path: Path) -> list[Path]:
    """The records of QEMU's commands in a trial's folder, one a machine."""
    try:
        here = {entry.name for entry in os.scandir(path)}
    except OSError:
        return []
    return _of_verifiers(path, here, ".qemu.json")


def _of_verifiers(path: Path, here: set[str], ending: str) -> list[Path]:
    """The verifiers' files with this ending, of a trial whose folder holds the names `here`."""
    folders = [path / "verifier"] if "verifier" in here else []
    folders += sorted((path / "steps").glob("*/verifier")) if "steps" in here else []
    found: list[Path] = []
    for folder in folders:
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except OSError:
            continue
        found += [folder / name for name in names if name.endswith(ending)]
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

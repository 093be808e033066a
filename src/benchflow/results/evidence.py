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
    for cast in _of_verifiers(path, "console.cast"):
        found[cast.relative_to(path).as_posix()] = cast
    return found


def verifier_folders(path: Path) -> list[tuple[Path, str]]:
    """The folders in which verifiers leave their files in a trial's folder, each with what stands
    before its milestones' ids: nothing, or `STEP/` in a task of several steps."""
    found = [(path / "verifier", "")]
    if (path / "steps").is_dir():
        steps = sorted((path / "steps").glob("*/verifier"))
        found += [(folder, f"{folder.parent.name}/") for folder in steps]
    return found


def qemu_records(path: Path) -> list[Path]:
    """The records of QEMU's commands in a trial's folder, one a machine."""
    return _of_verifiers(path, ".qemu.json")


def _of_verifiers(path: Path, ending: str) -> list[Path]:
    found: list[Path] = []
    for folder, _ in verifier_folders(path):
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

"""What there is to look at in a trial's folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_EVIDENCE = ("trial.log", "exception.txt", "agent", "artifacts")
_OF_VERIFIER = ("milestones.json", "test-stdout.txt")


def evidence_in(path: Path) -> dict[str, Path]:
    """What there is to look at in a trial's folder: path below it → path."""
    here = set(os.listdir(path))  # noqa: PTH208 (there may be 100,000 trials)
    verifiers = {"verifier": names_in(path / "verifier")}
    if "steps" in here:
        for folder, _ in verifier_folders(path)[1:]:
            verifiers[folder.relative_to(path).as_posix()] = names_in(folder)
    names = [f"verifier/{name}" for name in _OF_VERIFIER if name in verifiers["verifier"]]
    names += [name for name in _EVIDENCE if name in here]
    found = {name: path / name for name in names if holds_something(f"{path}/{name}")}
    for place, files in verifiers.items():
        casts = [f"{place}/{name}" for name in files if name.endswith("console.cast")]
        found.update((name, path / name) for name in casts)
    return found


def verifier_folders(path: Path) -> list[tuple[Path, str]]:
    """The folders in which verifiers leave their files in a trial's folder, each with what stands
    before its milestones' ids: nothing, or `STEP/` in a task of several steps."""
    found = [(path / "verifier", "")]
    if os.path.isdir(f"{path}/steps"):  # noqa: PTH112 (there may be 100,000 trials)
        steps = sorted((path / "steps").glob("*/verifier"))
        found += [(folder, f"{folder.parent.name}/") for folder in steps]
    return found


def qemu_records(path: Path) -> list[Path]:
    """The records of QEMU's commands in a trial's folder, one a machine."""
    return _of_verifiers(path, ".qemu.json")


def screenshots(path: Path) -> list[Path]:
    """Pictures of screens that verifiers took in a trial's folder."""
    return _of_verifiers(path, ".png")


def _of_verifiers(path: Path, ending: str) -> list[Path]:
    found: list[Path] = []
    for folder, _ in verifier_folders(path):
        found += [folder / name for name in names_in(folder) if name.endswith(ending)]
    return found


def names_in(folder: Path) -> list[str]:
    """What lies in a folder, by name; nothing where it cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (there may be 100,000 of them)
    except OSError:
        return []


def holds_something(path: Path | str) -> bool:
    """Whether `path` is a file or folder, no link, and not empty."""
    try:
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(path) as entries:
                return next(entries, None) is not None
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0

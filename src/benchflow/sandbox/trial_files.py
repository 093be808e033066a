"""What crosses between a trial's directory and its sandboxes, apart from the bytes: which host
paths may be used, what may stay in a directory that an agent wrote, and the limits report."""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from benchflow.base.atomic import write_json
from benchflow.errors import InfrastructureError
from benchflow.sandbox.box import Box
from benchflow.sandbox.model import Limits

#: How much of a verifier's disk what is delivered may take.
FOR_DELIVERABLES = 0.9


def trusted(path: Path, trial_dir: Path) -> Path:
    """`path`, unless it lies in the trial's directory and leads out of it: an agent may have put
    a symlink to a file of the host's where Harbor collects artifacts. Raises
    InfrastructureError."""
    inside = path.absolute().is_relative_to(trial_dir.absolute())
    if inside and not path.resolve().is_relative_to(trial_dir.resolve()):
        raise InfrastructureError(f"{path} is a symlink that leads out of the trial's directory")
    return path


def disarm(directories: list[Path]) -> list[str]:
    """Remove from directories that sandboxed programs wrote what could harm who reads them on the
    host: symlinks that may lead out, fifos, sockets, device nodes. Says what was removed.

    The writers may still be at work, so nothing here is looked up by a path of theirs. A symlink
    stays if it is relative and never goes up: such a one cannot leave its directory.
    """
    removed: list[str] = []
    for top in directories:
        for folder, names, files, fd in os.fwalk(top, follow_symlinks=False):
            for name in (*names, *files):
                what = _danger(name, fd)
                if what:
                    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                        os.unlink(name, dir_fd=fd)
                        removed.append(f"{folder}/{name} ({what})")
    return removed


def _danger(name: str, folder: int) -> str:
    """What is dangerous about an entry; empty for files, directories and harmless symlinks."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return ""
        if not stat.S_ISLNK(mode):
            return "special file"
        target = os.readlink(name, dir_fd=folder)
    except OSError:
        return ""
    if target.startswith("/") or ".." in target.split("/"):
        return f"symlink to {target}"
    return ""


def leading_out(tree: Path, inside: str) -> list[tuple[str, str]]:
    """Links in a tree that was fetched from `inside` to what was not fetched with it: each link's
    path inside, and why it matters. Nothing is followed."""
    top = inside.rstrip("/")
    found: list[tuple[str, str]] = []
    for folder, names, files in os.walk(tree):
        here = PurePosixPath(top) / Path(folder).relative_to(tree).as_posix()
        for name in (*names, *files):
            try:
                target = str((Path(folder) / name).readlink())
            except OSError:  # no link
                continue
            goal = posixpath.normpath(here / target)
            if goal != top and not goal.startswith(f"{top}/"):
                why = f"a link to {target}, which does not cross with it"
                found.append((str(here / name), why))
    return sorted(found)


def stored(source: Path) -> tuple[int, int]:
    """(bytes on the disk, apparent bytes) of a file or of all files in a folder; links are not
    followed."""
    files = [source]
    if source.is_dir() and not source.is_symlink():
        files = [Path(top, name) for top, _, names in os.walk(source) for name in names]
    found = [file.lstat() for file in files]
    return sum(one.st_blocks * 512 for one in found), sum(one.st_size for one in found)


@contextlib.contextmanager
def within(source: Path, room: int) -> Iterator[Path]:
    """`source`; but where it takes more than `room` bytes on the disk, a hole of the same size.

    What is too large for the sandbox that it goes to would have all in there killed, and nobody
    would judge it. So that can still be seen how large it is, and nothing is in it.
    """
    on_disk, apparent = stored(source)
    if on_disk <= room:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="benchflow-hollow-") as folder:
        hollow = Path(folder, source.name)
        if source.is_dir():
            hollow.mkdir()
        with (hollow / "too-large" if source.is_dir() else hollow).open("wb") as file:
            file.truncate(apparent)
        yield hollow


def report(box: Box, granted: Limits, network: str) -> dict[str, Any]:
    """What a sandbox was given, and how far this machine holds it to that."""
    return {
        "sandbox": box.name,
        "image": box.image.digest,
        "network": network,
        "granted": asdict(granted),
        "enforced": box.limits_report(),
        "device_nodes": box.device_nodes,
    }


def used(box: Box) -> dict[str, Any]:
    """What a sandbox used at its peak; null where this machine cannot say."""
    return asdict(box.usage())


def write_report(path: Path, role: str, value: dict[str, Any]) -> None:
    """Put one sandbox's report under its role into the trial's `sandbox.json`, atomically."""
    known: dict[str, Any] = {"schema": 1, "sandboxes": {}}
    if path.is_file() and not path.is_symlink():
        known = json.loads(path.read_text())
    known["sandboxes"][role] = value
    write_json(path, known)

"""The build context of an image: its digest, and a copy that cannot change under the builder."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from benchflow.errors import TaskError
from benchflow.sandbox.idmap import IdMap


def _entries(root: Path) -> list[tuple[str, os.stat_result]]:
    found = []
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(directory, name)
            found.append((path.relative_to(root).as_posix(), path.lstat()))
    return sorted(found, key=lambda entry: entry[0])


def digest(root: Path) -> str:
    """Names the content of a directory tree: paths, permissions, data, symlink targets; no times
    and no owners. Raises TaskError for what a build context cannot hold."""
    total = hashlib.sha256()
    for name, info in _entries(root):
        path = root / name
        if stat.S_ISLNK(info.st_mode):
            content = f"l {path.readlink()}"
        elif stat.S_ISDIR(info.st_mode):
            content = "d"
        elif stat.S_ISREG(info.st_mode):
            with path.open("rb") as file:
                content = f"f {hashlib.file_digest(file, 'sha256').hexdigest()}"
        else:
            raise TaskError(f"{path}: a build context holds files, directories and symlinks only")
        total.update(f"{name}\0{stat.S_IMODE(info.st_mode):o}\0{content}\0".encode())
    return total.hexdigest()


def snapshot(root: Path, target: Path, id_map: IdMap) -> None:
    """Copy the tree to where the builder, which is not the caller, may read it."""
    shutil.copytree(root, target, symlinks=True)
    for path in (target, *target.rglob("*")):
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        if id_map.privileged:
            os.chown(path, id_map.uid_base, id_map.gid_base)
        else:
            # A plain user cannot give files away: the builder reads them as "others".
            path.chmod(mode | (mode & 0o500) >> 6)

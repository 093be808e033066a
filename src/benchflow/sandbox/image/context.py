"""The build context of an image: its digest, and a copy that cannot change under the builder."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from benchflow.errors import TaskError
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.image import recipe


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
        _give(path, id_map)


def adapt(frozen: Path, dockerfile_name: str, id_map: IdMap) -> None:
    """Write the Dockerfile of a copied context in the builder's words. Raises TaskError."""
    file = frozen / dockerfile_name
    text = file.read_text()
    adapted = recipe.adapted(text, dockerfile_name)
    if adapted.text == text:
        return
    # A link of whoever wrote the task must lead nothing of ours out of the copy.
    taken = frozen / recipe.FOLDER
    if taken.is_symlink() or taken.exists():
        raise TaskError(f"{recipe.FOLDER}: the name is taken", hint="call it otherwise")
    if not file.parent.resolve().is_relative_to(frozen.resolve()):
        raise TaskError(f"{dockerfile_name} lies outside of its context", hint="move it inside")
    file.unlink()  # it may be a link
    file.write_text(adapted.text)
    made = [file]
    for name, body in adapted.files.items():
        path = frozen / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
        path.chmod(0o644)
        made += [path, *(frozen / parent for parent in Path(name).parents if parent.name)]
    ignore = frozen / ".dockerignore"
    if adapted.files and ignore.is_file() and not ignore.is_symlink():
        ignore.write_text(f"{ignore.read_text()}\n!{recipe.FOLDER}\n!{recipe.FOLDER}/**\n")
    for path in made:
        _give(path, id_map)


def _give(path: Path, id_map: IdMap) -> None:
    if not path.is_symlink():
        mode = path.stat().st_mode
        if id_map.privileged:
            os.chown(path, id_map.uid_base, id_map.gid_base)
        else:
            # A plain user cannot give files away: the builder reads them as "others".
            path.chmod(mode | (mode & 0o500) >> 6)

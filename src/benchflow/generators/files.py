"""Files of a generator, of its base and of its instances: which count, and their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchflow.base.left_files import LEFT_FILES


def files(top: Path) -> Iterator[Path]:
    """`top` itself where it is a file, else all files below it, sorted, compiled ones left out."""
    if top.is_file():
        yield top
        return
    for path in sorted(top.rglob("*")):
        if path.is_file() and LEFT_FILES.isdisjoint(path.relative_to(top).parts):
            yield path


def digest(root: Path, tops: Iterable[Path]) -> str:
    """SHA-256 over the names below `root` and the contents of the files of `tops`."""
    found = hashlib.sha256()
    for path in (path for top in tops for path in files(top)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()

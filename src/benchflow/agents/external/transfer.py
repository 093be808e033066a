"""Files between the host and a sandbox that is lent. Nothing half stays on the host."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from benchflow.errors import UsageError


class Files(Protocol):
    """The part of a sandbox that files go through."""

    async def fetch_for_driver(self, inside: str, host: Path) -> None: ...
    async def upload_file(self, source_path: Path | str, target_path: str) -> None: ...
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None: ...


def host(request: dict[str, Any], name: str) -> Path:
    """A path of the host's. Raises UsageError for one that is not absolute."""
    path = Path(str(request.get(name) or "."))
    if not path.is_absolute():
        raise UsageError(f"{name} {str(path)!r} is not an absolute path")
    return path


async def put(box: Files, source: Path, target: str) -> None:
    """A file, or what is in a folder, goes to `target`. OSError, UsageError."""
    _absolute(target)
    if source.is_dir():
        await box.upload_dir(source, target)
    else:
        await box.upload_file(source, target)


async def get(box: Files, source: str, target: Path) -> int:
    """Copies `source` to `target`, into it where that is a folder; returns its bytes.

    A file is replaced in one step, a folder must not be there yet. OSError, UsageError.
    """
    _absolute(source)
    if target.is_dir():
        target = target / Path(source).name
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder", hint="make it first")
    with _scratch(target.parent) as folder:
        draft = folder / "got"
        await box.fetch_for_driver(source, draft)
        size = _size(draft)
        if draft.is_dir() and os.path.lexists(target):
            raise UsageError(f"{target} exists", hint="name a folder that is not there yet")
        draft.replace(target)
    return size


async def write(box: Files, data: bytes, target: str) -> None:
    """A file with `data` as its content, mode 0644. OSError, UsageError."""
    _absolute(target)
    with _scratch(None) as folder:
        draft = folder / (Path(target).name or "file")
        draft.write_bytes(data)
        draft.chmod(0o644)
        await box.upload_file(draft, target)


async def read(box: Files, source: str, offset: int, most: int) -> tuple[bytes, int]:
    """Up to `most` bytes of a file from `offset` on, and its size. OSError, UsageError."""
    _absolute(source)
    with _scratch(None) as folder:
        draft = folder / "read"
        await box.fetch_for_driver(source, draft)
        if draft.is_dir():
            raise UsageError(f"{source} is a folder", hint="run ls, or get it")
        with draft.open("rb") as file:
            file.seek(offset)
            return file.read(most), draft.stat().st_size


def said(error: OSError) -> str:
    """What went wrong with a file, in one sentence."""
    name = error.filename
    return f"{name}: {error.strerror}" if name and error.strerror else str(error)


def _absolute(inside: str) -> None:
    if not inside.startswith("/"):
        raise UsageError(f"{inside!r}: a path in the sandbox is absolute")


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.lstat().st_size
    files = (Path(top) / name for top, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)


@contextmanager
def _scratch(beside: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=".benchflow-", dir=beside))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

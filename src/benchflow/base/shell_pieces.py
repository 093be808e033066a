"""Lines in a task's scripts that stand for a shell piece which tasks share.

A line `from-tasks-lib NAME.sh`, by itself in a `.sh` file of `environment/`, `solution/` or
`tests/`, is written out wherever the task is read as a whole: when it is staged or exported, in its
digest and in the keys of its gates. What is written is the file `lib/NAME.sh` of the catalogue that
the task lies in, without its head (all up to the first empty line: what it is for and what it
wants). So a staged task holds every byte that it runs, and a piece that moves into `lib` and is
written out again is no change. A script that is run as it stands here ends at that line with
"command not found".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchflow.errors import TaskError

_LINE = re.compile(rb"^from-tasks-lib[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_NAME = re.compile(rb"[a-z0-9][a-z0-9-]*\.sh")
#: Folders of a task that nobody stages: a line there would never be written out.
_AS_THEY_ARE = ("exploits", "variants")


def library(task: Path) -> Path:
    """The folder of shared pieces for the task folder `task`: `lib` beside the topics."""
    return task.parent.parent / "lib"


def read(path: Path, task: Path) -> bytes:
    """The content of a task's file, written out. Raises TaskError for a piece that is not there."""
    return written_out(path, library(task))


def written_out(path: Path, pieces: Path) -> bytes:
    """The content of a file with pieces of the folder `pieces`. Raises TaskError."""
    data = path.read_bytes()
    if path.suffix != ".sh" or b"from-tasks-lib" not in data:
        return data
    return _LINE.sub(lambda found: _piece(found[1], path, pieces), data)


def problems(task: Path) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with such lines in a task: file, what it is, and what to do about it."""
    for path in sorted(task.rglob("*.sh")):
        if path.is_symlink():
            continue
        data = path.read_bytes()
        if not _LINE.search(data):
            continue
        part = path.relative_to(task).parts[0]
        if part in _AS_THEY_ARE:
            yield path, f"from-tasks-lib in {part}/, which is not staged", "start from solve.sh"
            continue
        try:
            read(path, task)
        except TaskError as error:
            yield path, error.message.partition(": ")[2], error.hint or ""


def _piece(name: bytes, path: Path, folder: Path) -> bytes:
    there = sorted(each.name for each in folder.glob("*.sh"))
    shown = name.decode("utf-8", "replace")
    if not _NAME.fullmatch(name) or shown not in there:
        has = f"it has {', '.join(there)}" if there else "there is no such folder"
        raise TaskError(f"{path}: from-tasks-lib {shown[:60]}: not in {folder}", hint=has)
    data = (folder / shown).read_bytes()
    _head, gap, text = data.partition(b"\n\n")
    if not gap:
        raise TaskError(
            f"{path}: {folder / shown}: there is nothing below its head",
            hint="say what it is for, then an empty line, then the piece",
        )
    return text.rstrip(b"\n")

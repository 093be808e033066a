"""Lines in a task's scripts that stand for a piece which tasks share.

A line `from-tasks-lib NAME.sh`, by itself in a `.sh` file of `environment/`, `solution/` or
`tests/`, is written out wherever the task is read as a whole: when it is staged or exported, in its
digest and in the keys of its gates. What is written is the file `lib/NAME.sh` of the catalogue that
the task lies in, without its head (all up to the first empty line: what it is for and what it
wants). So a staged task holds every byte that it runs, and a piece that moves into `lib` and is
written out again is no change. A script that is run as it stands here ends at that line with
"command not found".

A line `from-bench NAME.py` stands for a module of `benchflow.bench` in the same way, whole, inside
of a here-document: so what an image is made by and what the checks compare it by are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchflow.errors import TaskError

_LINE = re.compile(rb"^from-(tasks-lib|bench)[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_NAME = re.compile(rb"[a-z0-9][a-z0-9-]*\.sh")
_MODULE = re.compile(rb"[a-z][a-z0-9_]*\.py")
_BENCH = Path(__file__).parents[1] / "bench"
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
    if path.suffix != ".sh" or b"from-" not in data:
        return data
    return _LINE.sub(
        lambda found: (
            _module(found[2], path) if found[1] == b"bench" else _piece(found[2], path, pieces)
        ),
        data,
    )


def problems(task: Path) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with such lines in a task: file, what it is, and what to do about it."""
    for path in sorted(task.rglob("*.sh")):
        if path.is_symlink():
            continue
        data = path.read_bytes()
        found = _LINE.search(data)
        if not found:
            continue
        part = path.relative_to(task).parts[0]
        if part in _AS_THEY_ARE:
            line = f"from-{found[1].decode()}"
            yield path, f"{line} in {part}/, which is not staged", "start from solve.sh"
            continue
        try:
            read(path, task)
        except TaskError as error:
            yield path, error.message.partition(": ")[2], error.hint or ""


def _module(name: bytes, path: Path) -> bytes:
    shown = name.decode("utf-8", "replace")
    if not _MODULE.fullmatch(name) or not (_BENCH / shown).is_file():
        raise TaskError(
            f"{path}: from-bench {shown[:60]}: no module of benchflow.bench",
            hint="docs/bench.md names them",
        )
    return (_BENCH / shown).read_bytes().rstrip(b"\n")


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

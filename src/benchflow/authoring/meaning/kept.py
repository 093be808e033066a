"""What a task means, kept from one command to the next.

To read the meaning of a whole catalogue takes seconds, and most commands find it as it was. What is
kept holds for the bytes that it was read from: the task's folder, the pieces that tasks share, the
task that a sequel begins from, all of `benchflow`, and the Python and libraries it runs with.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchflow.authoring.meaning.key import SOURCES, library_versions, parts_of, told
from benchflow.authoring.meaning.rest import rest_of
from benchflow.base import atomic, shell_pieces
from benchflow.base.home import home
from benchflow.tasks import Task
from benchflow.tasks.digest import digest_of, files_below
from benchflow.tasks.sequels import earlier_folder

_OURS = SOURCES / "benchflow"


@dataclass(frozen=True)
class Meaning:
    """`parts` as `key.parts_of`, `rest` as `rest.rest_of`."""

    parts: dict[str, str]
    rest: str


def of_task(task: Task) -> Meaning:
    """`meaning_of` a task of ours; another is run where it lies: its jobs end with that place."""
    if task.is_benchflow:
        return meaning_of(task.path)
    return Meaning({"task": task.digest, "place": str(task.path)}, "")


def meaning_of(folder: Path) -> Meaning:
    """What the task of ours in `folder` means today. Raises as `parts_of` and `rest_of`."""
    place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    file = home() / "meanings" / f"{folder.name}-{place}.json"
    inputs = _inputs(folder)
    if known := _kept(file, inputs):
        return known
    meaning = Meaning(parts_of(folder), rest_of(folder))
    # Bytes of before are not to stand for what was read after an edit.
    if _inputs(folder) == inputs and _changes() == _benchflow().changes:
        told_now = {"inputs": inputs, "parts": meaning.parts, "rest": meaning.rest}
        with contextlib.suppress(OSError):  # it is only kept to be quick; a full disk is no fault
            file.parent.mkdir(exist_ok=True)
            atomic.write_json(file, told_now, lasting=False)
    return meaning


def _kept(file: Path, inputs: str) -> Meaning | None:
    """None where nothing is kept for these inputs, or what is there is no such record."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["inputs"] != inputs:
            return None
        return Meaning({str(k): str(v) for k, v in data["parts"].items()}, str(data["rest"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _inputs(folder: Path) -> str:
    read = [_bytes_of(folder), _bytes_of(shell_pieces.library(folder)), _benchflow().content]
    if earlier := told(folder)["metadata"]["benchflow"].get("sequel"):
        read.append(_bytes_of(earlier_folder(folder, earlier["of"])))
    return hashlib.sha256("\n".join(read).encode()).hexdigest()


class _Benchflow(NamedTuple):
    """What it is made of, and when each of its files was changed last."""

    changes: dict[Path, int]
    content: str


@functools.cache  # `key` reads the modules that tasks share once in a process, too
def _benchflow() -> _Benchflow:
    changes = _changes()
    here = {"python": sys.version, "libraries": library_versions()}
    return _Benchflow(changes, _bytes_of(_OURS) + json.dumps(here, sort_keys=True))


def _changes() -> dict[Path, int]:
    return {path: path.lstat().st_ctime_ns for path in files_below(_OURS, links=True)}


def _bytes_of(folder: Path) -> str:
    """Of each file as it lies there: `digest_of` leaves out nothing of a task below its root."""
    return digest_of(folder.parent, [folder.name], links=True)

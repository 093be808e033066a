"""What a task means, kept from one command to the next.

To read the meaning of a whole catalogue takes seconds, and most commands find it as it was. What is
kept holds for the bytes that it was read from: the task's folder, the pieces that tasks share, the
task that a sequel begins from, all of `benchflow`, and the Python and libraries it runs with.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.meaning.key import SOURCES, library_versions, parts_of, told
from benchflow.authoring.meaning.rest import rest_of
from benchflow.base import atomic, shell_pieces
from benchflow.base.home import home
from benchflow.tasks.digest import files_below
from benchflow.tasks.sequels import earlier_folder


@dataclass(frozen=True)
class Meaning:
    """`parts` as `key.parts_of`, `rest` as `rest.rest_of`."""

    parts: dict[str, str]
    rest: str


def meaning_of(folder: Path) -> Meaning:
    """What the task of ours in `folder` means today. Raises as `parts_of` and `rest_of`."""
    place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    file = home() / "meanings" / f"{folder.name}-{place}.json"
    inputs = _inputs(folder)
    if known := _kept(file, inputs):
        return known
    meaning = Meaning(parts_of(folder), rest_of(folder))
    file.parent.mkdir(exist_ok=True)
    told_now = {"inputs": inputs, "parts": meaning.parts, "rest": meaning.rest}
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
    read = [_bytes_below(folder), _bytes_below(shell_pieces.library(folder)), _benchflow()]
    if earlier := told(folder)["metadata"]["benchflow"].get("sequel"):
        read.append(_bytes_below(earlier_folder(folder, earlier["of"])))
    return hashlib.sha256("\n".join(read).encode()).hexdigest()


@functools.cache
def _benchflow() -> str:
    here = {"python": sys.version, "libraries": library_versions()}
    return _bytes_below(SOURCES / "benchflow") + json.dumps(here, sort_keys=True)


def _bytes_below(folder: Path) -> str:
    """Names, executable bits and contents of all files, none of them written out or left out."""
    total = hashlib.sha256()
    for path in files_below(folder, links=True) if folder.is_dir() else []:
        name = os.fsencode(path.relative_to(folder))
        if path.is_symlink():
            total.update(b"%s l %s\n" % (os.fsencode(path.readlink()), name))
            continue
        executable = b"x" if path.stat().st_mode & stat.S_IXUSR else b"-"
        content = hashlib.sha256(path.read_bytes()).hexdigest().encode()
        total.update(b"%s %s %s\n" % (content, executable, name))
    return total.hexdigest()

"""`benchflow new`: a folder that already boots something, to be made into a task."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from benchflow.base import shell_pieces
from benchflow.errors import UsageError
from benchflow.generators import is_generator
from benchflow.tasks import Task, load, root
from benchflow.tasks.digest import files_below

_TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")


def new(name: str, *, like: Task | None = None, author: str = "", top: Path | None = None) -> Task:
    """Makes `<top>/<topic>/<name>` from the template, or as a copy of the task `like`.

    `top` is the catalogue's folder by default. A copy starts at version 0.1.0, its times are
    called a guess, and `author` is put before those whose work it starts from; its reviewers are
    not taken over. Raises UsageError for a name that is not `topic/name` or is a generator's, a
    folder that exists, or a `like` that is a plain Harbor task. Shared shell pieces are written out
    in a copy that lies in another catalogue.
    """
    folder = checked_place(name, top)
    if like is not None and not like.is_benchflow:
        raise UsageError(f"{like.name} is a plain Harbor task", hint="copy one of the catalogue's")
    topic, own = name.split("/")
    source = like.path if like else _TEMPLATE
    # A copy in another catalogue has no lib to take from.
    pieces = shell_pieces.library(folder.resolve())
    shares = like is not None and shell_pieces.library(like.path) == pieces
    try:
        for path in files_below(source):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
            if like and not shares:
                target.write_bytes(shell_pieces.read(path, like.path))
        _name(folder / "task.toml", topic, own, author, like)
        return load(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def checked_place(name: str, top: Path | None) -> Path:
    """Where a new task of this name goes. Raises UsageError as `new` does."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not TOPIC/NAME", hint="small letters, digits and dashes")
    if is_generator(name, root()):
        raise UsageError(
            f"{name} is a generator's name",
            hint=f"draw a task of it: benchflow new {name} --seed 1; or choose another name",
        )
    topic, own = name.split("/")
    folder = (top or root()) / topic / own
    if folder.exists():
        raise UsageError(f"{folder} exists", hint="choose another name")
    return folder


def _name(path: Path, topic: str, own: str, author: str, like: Task | None) -> None:
    import tomlkit

    document: Any = tomlkit.parse(path.read_text(encoding="utf-8"))
    package, ours = document["task"], document["metadata"]["benchflow"]
    package["name"] = f"{package['name'].split('/')[0]}/{own}"
    package["version"] = "0.1.0"
    people = [dict(person) for person in package["authors"]] if like else []
    if author or not people:
        people.insert(0, {"name": author or "Your Name"})
    array = tomlkit.array()
    for person in people:
        table = tomlkit.inline_table()
        table.update(person)
        array.append(table)
    package["authors"] = array
    ours["topic"], ours["name"] = topic, own
    ours.pop("reviewers", None)  # nobody has reviewed the copy
    if like:
        ours["expert_minutes_basis"] = f"a guess, from {like.name}: measure it"
    path.write_text(tomlkit.dumps(document), encoding="utf-8")

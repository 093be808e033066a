"""`words.toml` of a task: what its machines are for and what its checks look at, for people.

Names of machines and of checks are made for programs: they say nothing to who votes on a console,
and lose their commas and apostrophes. No verdict reads this, and it is no part of the digest.
"""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from benchflow import generators
from benchflow.errors import TaskError
from benchflow.tasks.catalogue import in_catalogue, root
from benchflow.tasks.model import Task

NAME = "words.toml"
_Words = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{3,160}$")]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    machines: dict[str, _Words] = {}
    checks: dict[str, _Words] = {}


@dataclass(frozen=True)
class Words:
    """`machines`: name → what it is for, in one sentence, where a name may end in `*`; `checks`:
    function → what it looks at."""

    machines: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)

    def machine(self, name: str) -> str:
        """What a machine is for; "" where nobody wrote it down."""
        exact = self.machines.get(name)
        fits = (said for like, said in self.machines.items() if fnmatch.fnmatchcase(name, like))
        return exact or next(fits, "")

    def check(self, function: str) -> str:
        """What a check looks at: as its author wrote it, else the words of the function's name."""
        return self.checks.get(function) or function.removeprefix("test_").replace("_", " ")


def words_of(task: Task) -> Words:
    """The words of `task`; of one that was drawn from a seed those of the task that its generator
    builds upon. Raises TaskError for a file that is wrong, or that names a check it does not have.
    """
    path = task.path / NAME
    if not path.is_file():
        return drawn_words(task.generator)
    found = _read(path)
    milestones = (*task.milestones, *(one for step in task.steps for one in step.milestones))
    checks = {check.name for one in milestones for check in one.checks}
    if unknown := sorted(found.checks.keys() - checks):
        raise TaskError(
            f"{path}: checks.{unknown[0]}: the task has no such check",
            hint="name the function as tests/checks.py does, or remove the line",
        )
    return Words(found.machines, found.checks)


def drawn_words(generator: str) -> Words:
    """The words of what `generator` draws: its own, else those of the task that it builds upon."""
    known = generators.generators(root()) if generator else {}
    if generator not in known:
        return Words()
    path = known[generator].folder / NAME
    if path.is_file():
        found = _read(path)
        return Words(found.machines, found.checks)
    told = known[generator].told.base
    base = in_catalogue(told.task) if told else None
    return words_of(base) if base else Words()


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    except (ValueError, OSError) as error:
        problem = str(error)
    raise TaskError(f"{path}: {problem}", hint="docs/authoring.md, “Words for people”")

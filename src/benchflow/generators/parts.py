"""Parts: what a generator puts together, one file each, tried alone by one boot.

`parts/NAME.toml` says what the part is (`title`), where it belongs (`layer`), which milestones
fail while it alone is there (`breaks`, `login+` for one and all after it), how it is brought about
(`broken`, by `stage`) and how it is repaired (`repaired`, in the oracle's section of the first
milestone that it breaks).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchflow.errors import TaskError

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Text = Annotated[str, StringConstraints(min_length=10)]


class Pair(BaseModel):
    """Another part that makes this one harder to find or to repair."""

    model_config = ConfigDict(extra="forbid")

    part: Name
    how: Text


class Described(BaseModel):
    """What the author of any part says of it."""

    model_config = ConfigDict(extra="forbid")

    title: Text
    layer: Name
    breaks: list[Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+\+?$")]] = Field(
        min_length=1
    )
    silent: bool = False
    """Nothing complains at the first start; of a demand, no single command shows it, only a kill,
    a power cut, a full disk or a second repository."""
    order: int = 50
    """Among the parts of a stage, and of a section of the oracle."""
    hint: Text
    conflicts: list[Name] = []
    interacts: list[Pair] = []


class PartFile(Described):
    """A fault as its author writes it."""

    stage: Name
    broken: Text
    repaired: Text


@dataclass(frozen=True)
class Part:
    """One part. `breaks`: all milestones that fail while it is there, in the ladder's order."""

    name: str
    title: str
    layer: str
    breaks: tuple[str, ...]
    silent: bool
    stage: str
    order: int
    broken: str
    repaired: str
    hint: str
    conflicts: frozenset[str]
    interacts: dict[str, str]

    @property
    def bites(self) -> str:
        """The first milestone that it breaks, in whose section the oracle repairs it."""
        return self.breaks[0]

    @property
    def seen_at(self) -> frozenset[str]:
        """The milestones that tell of it where other parts are beside it."""
        return frozenset(self.breaks)


def load_parts(
    folder: Path,
    ladder: list[str],
    stages: list[str],
    load: Callable[[Path, list[str], list[str]], Part] | None = None,
) -> dict[str, Part]:
    """All parts below `folder` by name, read by `load` where they are no faults. Raises TaskError,
    naming the file, for one that is wrong, and for names of parts, stages or milestones that do not
    exist."""
    found = {}
    for path in sorted(folder.glob("*.toml")):
        found[path.stem] = (load or load_fault)(path, ladder, stages)
    for part in found.values():
        for other in (*part.conflicts, *part.interacts):
            if other not in found:
                raise TaskError(f"{folder}/{part.name}.toml: there is no part {other!r}")
    both = {
        name: part.conflicts | {o.name for o in found.values() if name in o.conflicts}
        for name, part in found.items()
    }
    return {name: replace(part, conflicts=frozenset(both[name])) for name, part in found.items()}


def load_fault(path: Path, ladder: list[str], stages: list[str]) -> Part:
    """Reads a part that is a fault. Raises TaskError, naming the file, where it is wrong."""
    try:
        told = PartFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{path}: {error}") from None
    if told.stage not in stages:
        raise TaskError(f"{path}: stage {told.stage!r} is none of {', '.join(stages)}")
    return Part(
        name=path.stem,
        title=told.title,
        layer=told.layer,
        breaks=broken_by(told.breaks, ladder, path),
        silent=told.silent,
        stage=told.stage,
        order=told.order,
        broken=_script(told.broken),
        repaired=_script(told.repaired),
        hint=told.hint,
        conflicts=frozenset(told.conflicts),
        interacts={pair.part: pair.how for pair in told.interacts},
    )


def broken_by(names: list[str], ladder: list[str], path: Path) -> tuple[str, ...]:
    """The milestones that `names` stand for, in the ladder's order; `NAME+` is that and all after
    it. Raises TaskError for one that there is not."""
    breaks: set[str] = set()
    for name in names:
        milestone = name.rstrip("+")
        if milestone not in ladder:
            raise TaskError(f"{path}: there is no milestone {milestone!r}")
        start = ladder.index(milestone)
        breaks |= set(ladder[start:]) if name.endswith("+") else {milestone}
    return tuple(name for name in ladder if name in breaks)


def _script(text: str) -> str:
    return re.sub(r"\A\n+|\s+\Z", "", text) + "\n"

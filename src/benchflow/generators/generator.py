"""A generator as it lies on disk: `generators/TOPIC/NAME/` beside the catalogue of tasks.

    generator.toml    what it is, its ladder, stages, levels and values
    parts/NAME.toml   what it puts together (benchflow.generators.parts)
    template/         files of an instance, with places for parts and facts (`write`)

Files that it shares with a task written by hand are taken from there (`[base]`), with drawn values
in place of what that task says literally.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchflow.errors import TaskError
from benchflow.generators import files
from benchflow.generators.axes import Axis, AxisName, Numbers
from benchflow.generators.compose import Level, pairs
from benchflow.generators.demands import load_demand
from benchflow.generators.kinds import KINDS, Kind
from benchflow.generators.parts import Name, Part, load_parts
from benchflow.generators.values import Value

#: What TOML can hold. A private seed has to be too long to be tried out: values of an instance
#: follow from it, and an agent sees some of them.
HIGHEST_SEED = (1 << 63) - 1


class Base(BaseModel):
    """A task written by hand that an instance takes files of."""

    model_config = ConfigDict(extra="forbid")

    task: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")]
    take: dict[str, str | list[str]]
    """A file or folder of the task to where it lies in an instance, or to several places."""


class Pinned(BaseModel):
    """An instance of a published split."""

    model_config = ConfigDict(extra="forbid")

    level: int
    seed: int
    spec: str


class GeneratorFile(BaseModel):
    """generator.toml as its author writes it."""

    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1)
    """Raised whenever the same seed gives another instance."""
    description: Annotated[str, StringConstraints(min_length=10)]
    parts_are: Literal["faults", "demands"] = "faults"
    ladder: list[Name] = Field(min_length=1)
    """The milestones of every instance, in the order of its checks."""
    login: Name
    """The milestone by which somebody is in, or something can be had at all: a part that breaks it,
    or one before it with all that follows, blocks an instance."""
    stages: list[Name] = Field(min_length=1)
    """Where parts are brought about; the template has a place for each."""
    default_level: int = 3
    minutes_a_part: float = 12
    minutes_around: float = 45
    """What an expert needs besides, in minutes; both estimated."""
    base: Base | None = None
    levels: dict[str, Level]
    values: dict[str, Value] = {}
    axes: dict[AxisName, Axis] = {}
    numbers: dict[AxisName, Numbers] = {}
    first_requirement: int = 1
    """Of demands: the number of the first in an instance's instruction."""
    splits: dict[str, list[Pinned]] = {}


@dataclass(frozen=True)
class Generator:
    """One generator; `name` is TOPIC/NAME."""

    name: str
    folder: Path
    told: GeneratorFile
    parts: dict[str, Part]

    @property
    def version(self) -> int:
        """Of what it draws."""
        return self.told.version

    @property
    def levels(self) -> dict[int, Level]:
        """By number."""
        return {int(number): level for number, level in sorted(self.told.levels.items())}

    @property
    def layers(self) -> list[str]:
        """Those that its parts belong to."""
        return sorted({part.layer for part in self.parts.values()})

    @property
    def pairs(self) -> int:
        """How many pairs of parts make each other harder."""
        return len(pairs(self.parts.values()))

    def blocks(self, part: Part) -> bool:
        """Whether nobody gets to a login while the part is there."""
        ladder = self.told.ladder
        return set(ladder[ladder.index(self.told.login) :]) <= set(part.breaks)

    @property
    def kind(self) -> Kind:
        """What its parts are."""
        return KINDS[self.told.parts_are]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of all its files; the base's are not in it."""
        return files.digest(self.folder, [self.folder])


def load(folder: Path) -> Generator:
    """Read a generator's folder. Raises TaskError, naming the file, where it is wrong."""
    path = folder / "generator.toml"
    try:
        told = GeneratorFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValidationError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{path}: {error}") from None
    if told.login not in told.ladder:
        raise TaskError(f"{path}: login = {told.login!r} is no milestone of the ladder")
    if wrong := [number for number in told.levels if number not in "12345"]:
        raise TaskError(f"{path}: level {wrong[0]!r}: levels are 1 to 5")
    load_one = load_demand if told.parts_are == "demands" else None
    parts = load_parts(folder / "parts", told.ladder, told.stages, load_one)
    return Generator("/".join(folder.parts[-2:]), folder, told, parts)


def is_generator(name: str, tasks: Path) -> bool:
    """Whether `name` is a generator's beside the catalogue `tasks`; nothing of it is read."""
    topic, _, own = name.partition("/")
    if not topic or not own or Path(name).is_absolute() or ".." in (topic, own):
        return False
    return (tasks.parent / "generators" / topic / own / "generator.toml").is_file()


def generators(tasks: Path) -> dict[str, Generator]:
    """All generators beside the catalogue `tasks`, by name. Raises TaskError."""
    top = tasks.parent / "generators"
    found = [load(path.parent) for path in sorted(top.glob("*/*/generator.toml"))]
    return {generator.name: generator for generator in found}

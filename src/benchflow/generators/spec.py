"""What was drawn for one instance: all that its files follow from, beside the generator's."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchflow.errors import TaskError, UsageError
from benchflow.generators.axes import drawn as drawn_axes
from benchflow.generators.compose import Chosen, compose
from benchflow.generators.draw import Draw
from benchflow.generators.generator import HIGHEST_SEED, Generator
from benchflow.generators.parts import Part
from benchflow.generators.values import drawn

_LONGEST = 120  # of a file's name


@dataclass(frozen=True)
class Spec:
    """One draw; of level 0 where its parts were named. `values`: text of the base to text of the
    instance; `axes`: what was chosen of each."""

    generator: str
    version: int
    level: int
    seed: int
    chosen: tuple[Chosen, ...]
    values: dict[str, str]
    axes: dict[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> list[Part]:
        """Those that were chosen, by name."""
        return [one.part for one in self.chosen]

    @property
    def name(self) -> str:
        """TOPIC/NAME of the instance's folder."""
        named = "-".join(part.name for part in self.parts)
        if len(named) > _LONGEST:
            named = f"{len(self.parts)}-parts-{hashlib.sha256(named.encode()).hexdigest()[:8]}"
        what = f"l{self.level}-{self.seed}" if self.level else named
        return f"{self.generator}-v{self.version}-{what}"

    @property
    def digest(self) -> str:
        """SHA-256 of what was drawn, whatever the parts' scripts say."""
        told = [
            self.generator, self.version, self.level, self.seed,
            [part.name for part in self.parts], sorted(self.values.items()),
        ]  # fmt: skip
        told += [sorted(self.axes.items())] if self.axes else []
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    @property
    def broken(self) -> set[str]:
        """Milestones that fail in what is handed out."""
        return {name for part in self.parts for name in part.breaks}


def chosen(generator: Generator, names: Sequence[str]) -> Spec:
    """An instance with exactly these parts; its values do not depend on the generator's version.

    Raises UsageError for names that there are not, and for parts that exclude each other."""
    for name in names:
        if name not in generator.parts:
            close = difflib.get_close_matches(name, generator.parts, n=1, cutoff=0.6)
            raise UsageError(
                f"{generator.name} has no part {name!r}",
                hint=f"did you mean {close[0]}?"
                if close
                else f"benchflow generators {generator.name}",
            )
        if excluded := generator.parts[name].conflicts & set(names):
            raise UsageError(f"{name} cannot be drawn together with {', '.join(sorted(excluded))}")
    draw = Draw(f"{generator.name}/parts", 0)
    parts = tuple(Chosen(generator.parts[name], "it was named") for name in sorted(set(names)))
    values = drawn(generator.told.values, draw)
    axes = drawn_axes(generator.told.axes, generator.told.numbers, draw)
    return Spec(generator.name, generator.version, 0, 0, parts, values, axes)


def spec(generator: Generator, level: int, seed: int) -> Spec:
    """Draw an instance. Raises UsageError for a level or a seed that there is not, TaskError where
    the parts cannot meet the level."""
    if level not in generator.levels:
        known = ", ".join(map(str, generator.levels))
        raise UsageError(f"{generator.name} has no level {level}", hint=f"levels: {known}")
    if not 0 <= seed <= HIGHEST_SEED:
        raise UsageError(f"seed {seed} is out of range", hint=f"use 0 to {HIGHEST_SEED}")
    draw = Draw(f"{generator.name}/{generator.version}/{level}", seed)
    try:
        chosen = compose(
            generator.parts,
            generator.levels[level],
            draw.stream("parts"),
            generator.blocks,
            generator.kind,
        )
    except TaskError as error:
        raise TaskError(f"{generator.name}, level {level}: {error.message}") from None
    return Spec(
        generator.name,
        generator.version,
        level,
        seed,
        tuple(chosen),
        drawn(generator.told.values, draw),
        drawn_axes(generator.told.axes, generator.told.numbers, draw),
    )

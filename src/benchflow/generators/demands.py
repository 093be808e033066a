"""Demands: parts that are asked for, in place of faults that are brought about.

A demand brings its sentence in the instruction, what the format says of it, what the verifier is
told (`spec`), its check, and the piece of the oracle that meets it. What is wrong without it is the
oracle without that piece: then the milestones fail that `breaks` names.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from benchflow.errors import TaskError
from benchflow.generators.parts import Described, Part, Text, broken_by


class DemandFile(Described):
    """A demand as its author writes it."""

    sentence: Text
    """What the instruction says; facts (`{{axis_word}}`) may stand in it."""
    format: str = ""
    """A line that the description of the forms has besides."""
    spec: dict[str, str] = Field(default_factory=dict)
    """What the verifier is told beside the demand's name."""
    solution: Text
    """The oracle's piece, in its section of the milestone that the demand bites."""
    checks: Text
    """The checks, in the section of that milestone; `@R` is the number of the demand."""
    tolerance: Text
    """What is left to the agent, in words for authors and reviewers."""


@dataclass(frozen=True)
class Demand(Part):
    """One demand. `repaired` is the oracle's piece."""

    sentence: str
    format: str
    spec: dict[str, Any]
    checks: str
    tolerance: str

    @property
    def seen_at(self) -> frozenset[str]:
        """Where it is told from others: the milestone that it bites."""
        return frozenset({self.bites})


def load_demand(path: Path, ladder: list[str], stages: list[str]) -> Demand:
    """Reads one. Raises TaskError, naming the file, where it is wrong."""
    try:
        told = DemandFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{path}: {error}") from None
    return Demand(
        name=path.stem,
        title=told.title,
        layer=told.layer,
        breaks=broken_by(told.breaks, ladder, path),
        silent=told.silent,
        stage=stages[0],
        order=told.order,
        broken="",
        repaired=_block(told.solution),
        hint=told.hint,
        conflicts=frozenset(told.conflicts),
        interacts={pair.part: pair.how for pair in told.interacts},
        sentence=told.sentence.strip(),
        format=told.format.strip(),
        spec=dict(told.spec),
        checks=_block(told.checks),
        tolerance=told.tolerance.strip(),
    )


def sentences(demands: list[Demand], first: int) -> str:
    """The demands of an instance as lines of its instruction, numbered from `first` on."""
    return "".join(
        f"- [R{first + at}] {one.sentence}\n" for at, one in enumerate(in_order(demands))
    )


def formats(demands: list[Demand]) -> str:
    """What they add to the description of the forms, each line once."""
    lines = dict.fromkeys(one.format for one in in_order(demands) if one.format)
    return "".join(f"- {line}\n" for line in lines)


def checks(demand: Demand, demands: list[Demand], first: int) -> str:
    """The checks of a demand, with its number in the instruction."""
    return re.sub(r"@R\b", f"R{first + in_order(demands).index(demand)}", demand.checks) + "\n\n"


def in_order(demands: list[Demand]) -> list[Demand]:
    """As an instruction tells them."""
    return sorted(demands, key=lambda one: (one.order, one.name))


def _block(text: str) -> str:
    return text.strip("\n").rstrip() + "\n"

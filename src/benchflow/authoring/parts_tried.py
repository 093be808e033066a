"""What is recorded of a generator's parts: `tried.json`, one entry for each trial.

An entry says which parts were together, what each of them was (`digests`), and what the trial came
to. It speaks of a part for as long as that digest is today's, so a part that is added or changed
makes no other one due again.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from benchflow.base import atomic
from benchflow.generators import Generator, files
from benchflow.generators.companies import Company
from benchflow.generators.parts import Part
from benchflow.generators.spec import Spec, chosen
from benchflow.generators.write import write

_FILE, _SCHEMA = "tried.json", 2


class Kind(StrEnum):
    """What was handed in."""

    HANDED_OUT = "handed out"  # as it came
    ORACLE = "oracle"


GOOD = {Kind.HANDED_OUT: "exact", Kind.ORACLE: "resolved"}


@dataclass(frozen=True)
class PartsTried:
    """One trial. `parts`: name → its digest; `came_to`: "exact" or "resolved"
    where all is well, else what was wrong."""

    kind: Kind
    parts: dict[str, str]
    came_to: str
    day: str

    @property
    def good(self) -> bool:
        """Whether the parts do what they say."""
        return self.came_to == GOOD[self.kind]

    @property
    def company(self) -> Company:
        """The parts' names, sorted."""
        return tuple(sorted(self.parts))

    def speaks_of(self, name: str, digest: str) -> bool:
        """Whether that part was there as it is today."""
        return self.parts.get(name) == digest


def tried(generator: Generator) -> list[PartsTried]:
    """All that is recorded, of parts that may be others today, oldest first."""
    path = generator.folder / _FILE
    if not path.is_file():
        return []
    told = json.loads(path.read_text(encoding="utf-8"))["trials"]
    return [PartsTried(**{**one, "kind": Kind(one["kind"])}) for one in told]


def record(generator: Generator, found: PartsTried) -> None:
    """Adds a trial, in the place of an earlier one of the same parts; of parts that are gone
    nothing is kept."""
    entries = [
        one for one in tried(generator)
        if (one.kind, one.company) != (found.kind, found.company)
        and one.parts.keys() <= generator.parts.keys()
    ]  # fmt: skip
    told = [asdict(one) for one in (*entries, found)]
    text = json.dumps({"schema": _SCHEMA, "trials": told}, indent=1)
    atomic.write(generator.folder / _FILE, text + "\n")


def of_today(kind: Kind, digests: Mapping[str, str], came_to: str) -> PartsTried:
    """A trial that has just ended."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return PartsTried(kind, dict(sorted(digests.items())), came_to, day)


def shown(known: Iterable[PartsTried], kind: Kind, name: str, digest: str) -> bool:
    """Whether the part does what it says: alone, where that was tried, else in two companies: of
    what is handed out, two that have no other part in common."""
    about = [one for one in known if one.kind is kind and one.speaks_of(name, digest)]
    alone = [one for one in about if len(one.parts) == 1]
    if alone:
        return alone[-1].good
    companies = [{*one.parts} - {name} for one in about if one.good]
    return any(
        not a & b if kind is Kind.HANDED_OUT else a != b
        for at, a in enumerate(companies)
        for b in companies[:at]
    )


def holding(generator: Generator, tasks: Path) -> set[str]:
    """The parts that are shown to do what they say, broken and repaired, as they are today."""
    known = tried(generator)
    if not known:
        return set()
    return {
        name
        for name, digest in digests(generator, tasks).items()
        if all(shown(known, kind, name, digest) for kind in Kind)
    }


def digests(generator: Generator, tasks: Path) -> dict[str, str]:
    """Part → SHA-256, 16 digits, of what its task alone is made of: the part, and an instance that
    has no part. Levels, splits and the generator's version are not in it."""
    around = digest(generator, replace(chosen(generator, []), version=0), tasks)
    return {
        name: hashlib.sha256(f"{around} {_told(part)}".encode()).hexdigest()[:16]
        for name, part in generator.parts.items()
    }


def _told(part: Part) -> str:
    """All that a part puts into a task, alone or beside others."""
    fields = {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in vars(part).items()
        if name != "interacts"
    }
    return json.dumps(fields, sort_keys=True)


def digest(generator: Generator, drawn: Spec, tasks: Path) -> str:
    """SHA-256 of all files of an instance."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "instance"
        write(generator, drawn, tasks, folder)
        return files.digest(folder, [folder])

"""Ratings that are recorded: a folder with packs and the answers to them, fit for a repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.base import atomic
from benchflow.people.pack import Pack, load
from benchflow.people.questionnaire import RatingQuestions
from benchflow.people.rating import Rating
from benchflow.people.reading import Reading, read

#: Name of the folder beside a catalogue's.
FOLDER = "ratings"
ANSWERS = "answers.jsonl"
PACKS = "packs"


@dataclass(frozen=True)
class Ratings:
    """What is recorded, rehearsals and all that was left out aside. `packs`: by digest."""

    packs: Mapping[str, Pack]
    ratings: tuple[Rating, ...]

    def __bool__(self) -> bool:
        return bool(self.ratings)


def packs_of(places: Sequence[Path]) -> dict[str, Pack]:
    """The packs at `places` (folders of `rate pack`, of `rate read -o`, or pack files), by digest.

    Raises UsageError for what is none.
    """
    found = []
    for place in places:
        inner = sorted((place / PACKS).glob("*.json")) if (place / PACKS).is_dir() else [place]
        found += [load(path) for path in inner]
    return {pack.digest: pack for pack in found}


def asked(packs: Mapping[str, Pack]) -> dict[str, RatingQuestions]:
    """The same, as what `reading.read` and the server take."""
    return {digest: RatingQuestions(pack) for digest, pack in packs.items()}


def ratings_of(reading: Reading, packs: Mapping[str, Pack]) -> Ratings:
    """What counts of a reading."""
    bodies = [one.body for one in reading.kept]
    return Ratings(packs, tuple(body for body in bodies if isinstance(body, Rating)))


def write(folder: Path, reading: Reading, packs: Mapping[str, Pack]) -> None:
    """Writes what was kept (rehearsals too, which nothing counts) and the packs that were asked.

    What lay there is replaced: read it as one of the sources to keep it.
    """
    (folder / PACKS).mkdir(parents=True, exist_ok=True)
    for digest, pack in packs.items():
        atomic.write(folder / PACKS / f"{digest[:16]}.json", pack.encoded)
    lines = [one.envelope.replace(b"\n", b" ") for one in (*reading.kept, *reading.rehearsals)]
    atomic.write(folder / ANSWERS, b"".join(line + b"\n" for line in sorted(lines)))


def recorded(folder: Path) -> Ratings | None:
    """What is recorded in `folder`; None where there is nothing. All is checked again: a file in a
    repository can be edited by anybody. Raises UsageError for packs that are none."""
    if not (folder / ANSWERS).is_file():
        return None
    packs = packs_of([folder])
    return ratings_of(read([folder / ANSWERS], asked(packs)), packs) or None

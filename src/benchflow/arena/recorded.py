"""Votes that are recorded: a folder of ballots and the votes on them, fit for a repository.

A ballot is what an arena asked and whose its sides are, without what was shown: that is megabytes,
and no longer needed once the votes are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from benchflow.arena.pack import Arena, Asked, Key, checked
from benchflow.arena.votes import Votes
from benchflow.base import atomic
from benchflow.errors import UsageError
from benchflow.people.answers import Body, Signed
from benchflow.people.reading import Reading, read

#: Name of the folder beside a catalogue's.
FOLDER = "votes"
ANSWERS = "votes.jsonl"
BALLOTS = "ballots"


class Ballot(Struct, frozen=True, forbid_unknown_fields=True):
    """One arena as its votes need it: `arena` is its digest."""

    format: Literal["benchflow-ballot/1"]
    arena: str
    rehearsal: bool
    pairs: tuple[Asked, ...]
    key: Key

    def check(self, data: bytes) -> Signed[Body]:
        """Votes on it from one envelope. Raises BadAnswers."""
        signed = checked(data, self.arena, self.pairs, rehearsal=self.rehearsal)
        return Signed(signed.body, signed.envelope)


@dataclass(frozen=True)
class Recorded:
    """What counts of recorded votes, rehearsals and all that was left out aside. `keys`: by the
    digest of the arena."""

    votes: tuple[Votes, ...]
    keys: Mapping[str, Key]


def ballot(arena: Arena, key: Key) -> Ballot:
    """What is recorded of an arena."""
    return Ballot("benchflow-ballot/1", arena.digest, arena.rehearsal, arena.asked, key)


def votes_of(reading: Reading) -> tuple[Votes, ...]:
    """What counts of a reading."""
    bodies = (one.body for one in reading.kept)
    return tuple(body for body in bodies if isinstance(body, Votes))


def write(folder: Path, reading: Reading, ballots: Mapping[str, Ballot]) -> None:
    """Writes what was kept (rehearsals too, which nothing counts) and the ballots.

    What lay there is replaced: read it as one of the sources to keep it.
    """
    (folder / BALLOTS).mkdir(parents=True, exist_ok=True)
    for digest, one in ballots.items():
        text = msgspec.json.format(msgspec.json.encode(one, order="deterministic"), indent=1)
        atomic.write(folder / BALLOTS / f"{digest[:16]}.json", text)
    lines = [one.envelope.replace(b"\n", b" ") for one in (*reading.kept, *reading.rehearsals)]
    atomic.write(folder / ANSWERS, b"".join(line + b"\n" for line in sorted(lines)))


def is_recorded(folder: Path) -> bool:
    """Whether votes are recorded in `folder`."""
    return (folder / ANSWERS).is_file()


def ballots_of(folder: Path) -> dict[str, Ballot]:
    """The ballots recorded in `folder`, by the digest of their arena. Raises UsageError for a file
    that is none."""
    found = {}
    for path in sorted((folder / BALLOTS).glob("*.json")):
        try:
            one = msgspec.json.decode(path.read_bytes(), type=Ballot)
        except (OSError, ValueError, RecursionError) as error:
            hint = "benchflow arena read ARENA -o DIR writes them"
            raise UsageError(f"{path}: is no ballot: {error}", hint=hint) from error
        found[one.arena] = one
    return found


def recorded(folder: Path) -> Recorded | None:
    """What is recorded in `folder`; None where there is nothing that counts. All is checked again:
    a file in a repository can be edited by anybody. Raises UsageError for ballots that are none."""
    if not is_recorded(folder):
        return None
    ballots = ballots_of(folder)
    votes = votes_of(read([folder / ANSWERS], ballots))
    keys = {digest: one.key for digest, one in ballots.items()}
    return Recorded(votes, keys) if votes else None

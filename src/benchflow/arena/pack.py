"""An arena: what voters are shown, in one file, and whose it is, in another that stays at home.

Pairs and sides are named by ids that are drawn at random for each arena, so nothing in the one file
leads to the other. An arena is asked by the same pages and servers as a pack of ratings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from benchflow.arena.side import Counted, Side
from benchflow.arena.votes import Votes
from benchflow.base import atomic
from benchflow.errors import UsageError
from benchflow.people.answers import BadAnswers, Body, Signed, opened
from benchflow.people.page import policy, whole_page
from benchflow.people.rating import MINUTES_A_PAIR
from benchflow.people.server import Served

NAME = "arena.json"
PAGE = "arena.html"
MOST_PAIRS = 24
_MOST_BYTES = 64 << 20

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]


class Question(Struct, frozen=True):
    """One question of a pair; the answer is a side, or neither."""

    id: str
    text: str


class Pair(Struct, frozen=True, omit_defaults=True):
    """Two sides for one task. `sides` are ids; which stands left is drawn in each browser.
    `machines`: what each is for, in one sentence, where the task's words say it."""

    id: Id
    task: str
    description: str
    instruction: str
    sides: tuple[Id, Id]
    questions: tuple[Question, ...]
    machines: dict[str, str] = {}


class Arena(Struct, frozen=True, tag_field="kind", tag="arena"):
    """All that voters are shown. `rehearsal`: votes in it are never counted."""

    format: Literal["benchflow-pack/1"]
    pairs: Annotated[tuple[Pair, ...], Meta(min_length=1, max_length=MOST_PAIRS)]
    sides: dict[Id, Side]
    rehearsal: bool = False

    @property
    def encoded(self) -> bytes:
        """As it is written to disk, and as its digest is made."""
        return msgspec.json.encode(self, order="deterministic")

    @property
    def digest(self) -> str:
        """SHA-256 of the whole, in hexadecimal digits."""
        return hashlib.sha256(self.encoded).hexdigest()

    def page(self, served: Served | None) -> str:
        """The page of pairs, whole."""
        about = {
            "kind": "votes",
            "pack": self.digest,
            "rehearsal": self.rehearsal,
            # What was asked stands in the page as text.
            "pairs": [
                {
                    "id": pair.id,
                    "sides": pair.sides,
                    "questions": [q.id for q in pair.questions],
                    "task": pair.task,
                    "machines": pair.machines,
                }
                for pair in self.pairs
            ],
            "sides": self.sides,
            "served": served and {"post": served.post, "csrf": served.csrf, "link": served.link},
        }
        return whole_page(
            "arena.html.j2", "arena", about, served, arena=self, minutes=MINUTES_A_PAIR
        )

    def page_policy(self, served: Served | None) -> str:
        """The content security policy of the page."""
        return policy("arena", served)

    def check(self, data: bytes) -> Signed[Body]:
        """Votes in this arena from one envelope. Raises BadAnswers."""
        signed = self.votes(data)
        return Signed(signed.body, signed.envelope)

    def votes(self, data: bytes) -> Signed[Votes]:
        """The same, as what they are. Raises BadAnswers."""
        return checked(data, self.digest, self.asked, rehearsal=self.rehearsal)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """What votes have to answer."""
        return tuple(Asked(p.id, p.sides, tuple(q.id for q in p.questions)) for p in self.pairs)


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """A pair without what it shows: its sides, and the ids of its questions."""

    id: Id
    sides: tuple[Id, Id]
    questions: tuple[str, ...]


def checked(data: bytes, arena: str, asked: Sequence[Asked], *, rehearsal: bool) -> Signed[Votes]:
    """Votes from one envelope in the arena of that digest. Raises BadAnswers for what it did not
    ask for, and where a pair has no answer."""
    signed = opened(data, Votes)
    body = signed.body
    if body.pack != arena:
        raise BadAnswers("these votes are of another arena")
    if rehearsal and not body.rehearsal:
        raise BadAnswers("votes in a rehearsal that do not say so")
    pairs = {pair.id: pair for pair in asked}
    if sorted(vote.pair for vote in body.votes) != sorted(pairs):
        raise BadAnswers("each pair is voted on once, and no other")
    for vote in body.votes:
        pair = pairs[vote.pair]
        if vote.left not in pair.sides:
            raise BadAnswers("a side is named that the pair does not have")
        if set(vote.choices) != set(pair.questions):
            raise BadAnswers("each question is answered once, and no other")
    return signed


class Whose(Struct, frozen=True):
    """Who made a side; `uid` is "" for a blank one."""

    uid: str
    who: str
    trial: str
    task: str
    task_version: str
    verdict: str
    passed: int
    milestones: int
    counted: Counted


class Meant(Struct, frozen=True):
    """What a pair is there for, and its sides.

    `real`: of two trials; `blank`: one side shows nothing, so that who prefers it did not look;
    `again`: the sides of `of` once more, the other way round.
    """

    kind: Literal["real", "blank", "again"]
    task: str
    sides: tuple[Id, Id]
    of: str = ""


class Key(Struct, frozen=True, forbid_unknown_fields=True):
    """What opens an arena's votes; only its maker has this file."""

    format: Literal["benchflow-arena-key/1"]
    pack: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    sides: dict[Id, Whose]
    pairs: dict[Id, Meant]

    def other(self, pair: str, side: str) -> str:
        """The side that stood beside `side`."""
        first, second = self.pairs[pair].sides
        return second if side == first else first


def key_path(folder: Path) -> Path:
    """Beside the folder, so that the folder can be published as it is."""
    return folder.absolute().with_name(f"{folder.absolute().name}.key.json")


def write(arena: Arena, key: Key, folder: Path) -> Path:
    """Writes the arena and its page to `folder`, and the key beside it for its owner alone; returns
    the key's path. Raises UsageError where there is an arena or a key already."""
    place = key_path(folder)
    for path in (folder / NAME, place):
        if path.exists():
            raise UsageError(f"{path} exists", hint="votes are of that one: choose a new folder")
    page = arena.page(None)
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write(place, msgspec.json.format(msgspec.json.encode(key), indent=1), mode=0o600)
    atomic.write(folder / NAME, arena.encoded)
    atomic.write(folder / PAGE, page)
    return place


def load(place: Path) -> Arena:
    """The arena of a folder that `benchflow arena` made, or of a file. Raises UsageError."""
    path = place / NAME if place.is_dir() else place
    return _read(path, Arena, "is no arena")


def load_key(path: Path, arena: Arena) -> Key:
    """Raises UsageError where `path` is no key, or not that of `arena`."""
    key = _read(path, Key, "is no key of an arena")
    if key.pack != arena.digest or {pair.id for pair in arena.pairs} != key.pairs.keys():
        raise UsageError(f"{path} is the key of another arena", hint="name it with --key")
    return key


def _read[T](path: Path, kind: type[T], problem: str) -> T:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path} {problem}: too large")
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError, RecursionError) as error:
        hint = "benchflow arena JOB… -o DIR makes DIR, and DIR.key.json beside it"
        raise UsageError(f"{path} {problem}: {error}", hint=hint) from error

"""A pack: some tasks as raters see them. The same tasks make the same pack, by its digest.

What would anchor a rater is not in it: the hours that the author states, and how attempts went.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from benchflow.errors import TaskError, UsageError
from benchflow.people.answers import BadAnswers, Signed, opened
from benchflow.people.rating import MOST_TASKS, Rating
from benchflow.tasks import Task
from benchflow.tasks.words import words_of

NAME = "pack.json"
_MOST_BYTES = 4_000_000
#: Characters of an instruction; more is no instruction.
_MOST_WORDS = 200_000
_DEMAND = re.compile(r"\[(R[1-9][0-9]*[a-z]?)\][*_]*[ \t]*([^\n]*)")
#: What may be a document among the files that an agent is given, and a word that may name one.
_DOCUMENT = re.compile(r"README|[A-Za-z0-9_-]+\.(?:md|txt)")
_WORD = re.compile(r"[A-Za-z0-9_-]+(?:\.[a-z]+)?")
_MOST_DOCUMENT = 60_000
#: Of Markdown; an underscore inside of a word is none.
_MARKS = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])")


class Demand(Struct, frozen=True):
    """Something that a rater may find unfair or unclear: a requirement or a milestone."""

    id: str
    text: str
    of: Literal["instruction", "proof"]


class PackMilestone(Struct, frozen=True):
    """`share` of the points, 0…1. `checks`: what is looked at, in words."""

    id: str
    title: str
    share: float
    demands: tuple[str, ...]
    checks: tuple[str, ...]


class Document(Struct, frozen=True):
    """A text that the instruction names and an agent finds in its sandbox, such as a format that
    is as binding as it."""

    name: str
    text: str


class PackTask(Struct, frozen=True, omit_defaults=True):
    """One task as raters see it. `instruction` is Markdown."""

    name: str
    version: str
    digest: str
    description: str
    instruction: str
    milestones: tuple[PackMilestone, ...]
    demands: tuple[Demand, ...]
    documents: tuple[Document, ...] = ()


class Pack(Struct, frozen=True, tag_field="kind", tag="rating"):
    """What `benchflow rate pack` makes. `rehearsal`: answers to it are never counted."""

    format: Literal["benchflow-pack/1"]
    tasks: Annotated[tuple[PackTask, ...], Meta(min_length=1, max_length=MOST_TASKS)]
    rehearsal: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of the whole, in hexadecimal digits."""
        return hashlib.sha256(self.encoded).hexdigest()

    @property
    def encoded(self) -> bytes:
        """As it is written to disk, and as its digest is made."""
        return msgspec.json.encode(self, order="deterministic")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of its tasks, by name."""
        return list(combinations([task.name for task in self.tasks], 2))

    def rating(self, data: bytes) -> Signed[Rating]:
        """Answers to this pack from one envelope. Raises BadAnswers for what it did not ask."""
        signed = opened(data, Rating)
        rating = signed.body
        if rating.pack != self.digest:
            raise BadAnswers("these answers are of another pack")
        if self.rehearsal and not rating.rehearsal:
            raise BadAnswers("answers to a rehearsal that do not say so")
        known = {task.name: task for task in self.tasks}
        named = [one.task for one in rating.tasks]
        if len(set(named)) < len(named):
            raise BadAnswers("one task is rated twice")
        for one in rating.tasks:
            task = known.get(one.task)
            if task is None or task.digest != one.digest:
                raise BadAnswers("a task is rated that is not in the pack")
            if not {doubt.demand for doubt in one.doubts} <= {d.id for d in task.demands}:
                raise BadAnswers("a demand is named that the task does not make")
        pairs = [frozenset((pair.a, pair.b)) for pair in rating.pairs]
        if len(set(pairs)) < len(pairs) or not all(pair <= known.keys() for pair in pairs):
            raise BadAnswers("a pair is answered twice, or is not of this pack")
        return signed


def pack_of(tasks: Sequence[Task], *, rehearsal: bool = False) -> Pack:
    """The pack of some tasks. Raises UsageError for none, too many, or one twice; TaskError for a
    task that states no milestones or has no readable instruction."""
    if not 1 <= len(tasks) <= MOST_TASKS:
        raise UsageError(
            f"a pack is of 1 to {MOST_TASKS} tasks, not of {len(tasks)}",
            hint="three tasks take an expert about an hour; make several packs of more",
        )
    if len({task.name for task in tasks}) < len(tasks):
        raise UsageError("one task is named twice", hint="name each once")
    return Pack("benchflow-pack/1", tuple(_pack_task(task) for task in tasks), rehearsal)


def _pack_task(task: Task) -> PackTask:
    groups = [("", task.milestones), *((f"{s.name}/", s.milestones) for s in task.steps)]
    found = [(prefix + one.id, one) for prefix, group in groups for one in group]
    if not found:
        raise TaskError(
            f"{task.name}: has no milestones that a rater could judge",
            hint="rate tasks of the catalogue: benchflow tasks",
        )
    whole = sum(one.weight for _, one in found)
    instruction, words = _instruction(task), words_of(task)
    milestones = tuple(
        PackMilestone(
            id,
            one.title or id.replace("-", " "),
            round(one.weight / whole, 6),
            tuple(dict.fromkeys(proved for check in one.checks for proved in check.proves)),
            tuple(words.check(check.name) for check in one.checks),
        )
        for id, one in found
    )
    stated = dict.fromkeys(_DEMAND.findall(instruction))
    demands = [Demand(id, _short(text), "instruction") for id, text in stated]
    demands += [Demand(one.id, one.title, "proof") for one in milestones]
    return PackTask(
        task.name,
        task.version,
        task.digest,
        task.description,
        instruction,
        milestones,
        tuple({demand.id: demand for demand in demands}.values()),
        tuple(_documents(task, instruction)),
    )


def _documents(task: Task, instruction: str) -> Iterator[Document]:
    """Who has not read what an instruction calls binding cannot judge it."""
    top = task.path / "environment"
    named = set(_WORD.findall(instruction))
    paths = (path for path in sorted(top.rglob("*")) if _DOCUMENT.fullmatch(path.name))
    for path in paths:
        if path.name in named and path.is_file() and not path.is_symlink():
            text = path.read_text(encoding="utf-8").strip()
            if text:
                yield Document(path.relative_to(top).as_posix(), text[:_MOST_DOCUMENT])


def _instruction(task: Task) -> str:
    paths = [task.path / "instruction.md", *sorted(task.path.glob("steps/*/instruction.md"))]
    texts = [path.read_text(encoding="utf-8").strip() for path in paths if path.is_file()]
    whole = "\n\n".join(texts)
    if not whole or len(whole) > _MOST_WORDS:
        raise TaskError(f"{task.path}: has no instruction.md that a person would read")
    return whole


def _short(text: str, most: int = 90) -> str:
    plain = " ".join(_MARKS.sub("", text).split())
    return plain if len(plain) <= most else plain[:most].rpartition(" ")[0] + " …"


def load(place: Path) -> Pack:
    """The pack of a folder that `benchflow rate pack` made, or of a file. Raises UsageError."""
    path = place / NAME if place.is_dir() else place
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: is too large for a pack")
        return msgspec.json.decode(path.read_bytes(), type=Pack)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: is no pack: {error}", hint="make one: benchflow rate pack TASK… -o DIR"
        ) from error

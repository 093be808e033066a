"""Answers from files and stores, checked one by one and brought together.

What cannot be taken is left out with its reason; it never stops the reading of the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from benchflow.base.text import one_line
from benchflow.errors import UsageError
from benchflow.people.answers import MOST_BYTES, BadAnswers, Body, Envelope, Signed
from benchflow.people.store import Store

#: Who has looked at the page for less, per task or result in the answers, has not read it.
LEAST_SECONDS = 60
#: Bytes of a file of many answers, and answers in one reading.
_MOST_FILE = 64 * 1024 * 1024
_MOST_ANSWERS = 20_000
_SQLITE = b"SQLite format 3\x00"


class Asked(Protocol):
    """What a reading has to know of a questionnaire."""

    def check(self, data: bytes) -> Signed[Body]:
        """Answers to it from one envelope. Raises BadAnswers."""
        ...


@dataclass(frozen=True)
class LeftOut:
    """One set of answers that is not counted: where it was, and why."""

    place: str
    why: str


@dataclass(frozen=True)
class Reading:
    """`kept`: what counts, one set of answers a rater and pack. `rehearsals`: made for testing, in
    nothing that counts. `repeated`: exact copies, read once. `unlinked`: kept without a link."""

    kept: tuple[Signed[Body], ...]
    rehearsals: tuple[Signed[Body], ...]
    left_out: tuple[LeftOut, ...]
    repeated: int
    unlinked: int


@dataclass
class _Heap:
    by_id: dict[str, tuple[str, Signed[Body]]] = field(default_factory=dict)
    by_rater: dict[tuple[str, str], str] = field(default_factory=dict)
    by_link: dict[str, str] = field(default_factory=dict)
    by_words: dict[bytes, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    repeated: int = 0


def read(
    sources: Sequence[Path], asked: Mapping[str, Asked], *, links: Sequence[Store] = ()
) -> Reading:
    """Reads envelopes (one a file, one a line in `.jsonl`, stores, folders of them).

    `asked`: digest → questionnaire; answers to others are left out. `links`: where one-time links
    are kept. With any, answers that came by no link of theirs are left out; without, links that
    two answers share still are. Raises UsageError for a source that is not there.
    """
    heap = _Heap()
    stores = [*links]
    for path in _files(sources):
        if _is_store(path):
            stores.append(Store(path))
    known = {one.hash: one.pack for store in stores for one in store.links()}
    deleted = {id for store in stores for id in store.deleted()}
    for count, (place, data) in enumerate(_envelopes(sources)):
        if count >= _MOST_ANSWERS:
            heap.left_out.append(LeftOut(place, f"more than {_MOST_ANSWERS:,} answers at once"))
            break
        try:
            signed = _asked(data, asked)
            if signed.body.id in deleted:
                raise BadAnswers("deleted on request")
            if links and known.get(signed.body.link) != signed.body.pack:
                raise BadAnswers("came by no link that was given out for this pack")
            _put(heap, place, signed)
        except BadAnswers as error:
            heap.left_out.append(LeftOut(place, one_line(error.message, 300)))
    found = [signed for _, signed in heap.by_id.values()]
    kept = tuple(one for one in found if not one.body.rehearsal)
    return Reading(
        kept=kept,
        rehearsals=tuple(one for one in found if one.body.rehearsal),
        left_out=tuple(heap.left_out),
        repeated=heap.repeated,
        unlinked=sum(not one.body.link for one in kept),
    )


def _asked(data: bytes, asked: Mapping[str, Asked]) -> Signed[Body]:
    pack = _pack_named(data)
    if pack not in asked:
        raise BadAnswers("answers to a pack that is not among those named")
    return asked[pack].check(data)


class _Named(msgspec.Struct):
    pack: str


def _pack_named(data: bytes) -> str:
    """The pack that an envelope says to answer; whether that is so, `check` finds out."""
    if len(data) > MOST_BYTES:
        raise BadAnswers(f"answers of more than {MOST_BYTES:,} bytes are not read")
    try:
        return msgspec.json.decode(msgspec.json.decode(data, type=Envelope).body, type=_Named).pack
    except (ValueError, RecursionError) as error:
        raise BadAnswers(f"no answers of benchflow: {error}") from error


def _put(heap: _Heap, place: str, signed: Signed[Body]) -> None:
    body = signed.body
    same = heap.by_id.get(body.id)
    if same is not None:
        if same[1].body == body:
            heap.repeated += 1
            return
        raise BadAnswers(f"has the number of other answers ({same[0]}): copied or made up")
    if body.seconds < LEAST_SECONDS * parts_of(body):
        raise BadAnswers(f"answered in {body.seconds} s, too soon to have read what was asked")
    words = _words(body)
    twin = heap.by_words.get(words)
    if twin is not None and heap.by_id[twin][1].body.key != body.key:
        raise BadAnswers(f"word for word the answers of another key ({heap.by_id[twin][0]})")
    if body.link and heap.by_link.get(body.link, body.key) != body.key:
        raise BadAnswers("came by a link that others have used")
    rater = (body.pack, body.key)
    earlier = heap.by_rater.get(rater)
    if earlier is not None:
        before = heap.by_id[earlier][1].body
        if (before.revision, before.made) >= (body.revision, body.made):
            heap.left_out.append(LeftOut(place, "replaced by later answers of the same rater"))
            return
        heap.left_out.append(
            LeftOut(heap.by_id[earlier][0], "replaced by later answers of the same rater")
        )
        del heap.by_id[earlier]
        heap.by_words = {k: v for k, v in heap.by_words.items() if v != earlier}
    heap.by_id[body.id] = (place, signed)
    heap.by_rater[rater] = body.id
    heap.by_words[words] = body.id
    if body.link:
        heap.by_link[body.link] = body.key


def parts_of(body: Body) -> int:
    """How many tasks or results the answers are about."""
    return len(getattr(body, "tasks", ())) or 1


def _words(body: Body) -> bytes:
    """What was answered, without who, when and how."""
    whole = msgspec.to_builtins(body)
    for name in Body.__struct_fields__:
        if name != "pack":
            whole.pop(name, None)
    return msgspec.json.encode(whole | {"pack": body.pack}, order="deterministic")


def _envelopes(sources: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for path in _files(sources):
        if _is_store(path):
            for number, data in enumerate(Store(path).envelopes(MOST_BYTES), 1):
                yield f"{path}, answers {number}", data
        elif path.suffix == ".jsonl":
            with path.open("rb") as file:
                text = file.read(_MOST_FILE + 1)
            if len(text) > _MOST_FILE:
                raise UsageError(f"{path}: has more than {_MOST_FILE:,} bytes", hint="split it")
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    yield f"{path}:{number}", line
        else:
            with path.open("rb") as file:
                yield str(path), file.read(MOST_BYTES + 1)


def _files(sources: Sequence[Path]) -> Iterator[Path]:
    for source in sources:
        if source.is_dir():
            names = (p for p in sorted(source.iterdir()) if p.name != "pack.json")
            yield from (p for p in names if p.suffix in (".json", ".jsonl", ".sqlite"))
        elif source.is_file():
            yield source
        else:
            raise UsageError(f"{source}: there is no such file", hint="name files of answers")


def _is_store(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def reasons(left_out: Sequence[LeftOut]) -> list[tuple[str, int]]:
    """How many were left out for each reason, most first."""
    return Counter(one.why for one in left_out).most_common()

"""What is kept of a trial's checkpoints on disk, and how much at most.

    <trial>/checkpoints/checkpoints.json      how often one is taken, what was dropped
    <trial>/checkpoints/003/checkpoint.json   one state of the deliverable, and when it was seen
    <trial>/checkpoints/003/1, 2 …            the files and folders themselves, in the task's order

A state that is seen several times in a row is stored once. When there are too many states, or they
take too much, every second one is dropped and from then on they are taken half as often: what is
left lies evenly over the whole time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchflow.base.atomic import write_json
from benchflow.results.json_values import count, mapping, moment, number, sequence, word
from benchflow.results.safe_files import UnreadableRecord, read_object

FOLDER = "checkpoints"
#: States of one trial's deliverable that are kept at most, and the bytes that they take.
MOST_STATES = 24
MOST_BYTES = 12 << 30
_SCHEMA = 1
_DRAFT = ".draft"
_INDEX = "checkpoints.json"


@dataclass(frozen=True)
class Delivered:
    """One path of the task in a checkpoint. `kind`: file, directory or absent; `stored_as`: its
    name in the checkpoint's folder; `bytes`: on the disk; `why` it is absent."""

    path: str
    kind: str
    stored_as: str = ""
    bytes: int = 0
    apparent_bytes: int = 0
    why: str = ""


@dataclass(frozen=True)
class Checkpoint:
    """One state of the deliverable, seen first `seconds` after the agent began and last at
    `last_seconds`; `taken` and `last_taken` are the times. `missing`: why nothing could be copied;
    then there is no `digest`."""

    number: int
    seconds: float
    taken: datetime
    last_seconds: float
    last_taken: datetime
    digest: str
    deliverables: tuple[Delivered, ...] = ()
    missing: str = ""

    @property
    def bytes(self) -> int:
        """What it takes on the disk."""
        return sum(each.bytes for each in self.deliverables)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was delivered yet."""
        return not self.missing and all(each.kind == "absent" for each in self.deliverables)

    def files(self, trial: Path) -> dict[str, Path]:
        """The task's paths that were there, each with its copy in the trial's folder."""
        own = _folder(trial, self.number)
        return {d.path: own / d.stored_as for d in self.deliverables if d.stored_as}


class Store:
    """The checkpoints of one trial, to be added to. `seconds`: how often one is to be taken."""

    def __init__(self, trial: Path, seconds: float) -> None:
        self._trial = trial
        self.known = list(read(trial))
        before = index(trial)
        self._dropped = count(before.get("dropped")) or 0
        self._asked = seconds
        self.every = max(number(before.get("every_seconds")) or 0.0, seconds)
        shutil.rmtree(trial / FOLDER / _DRAFT, ignore_errors=True)
        (trial / FOLDER).mkdir(exist_ok=True)
        self._write_index()

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """An empty folder to copy into; gone afterwards unless `add` took it."""
        folder = self._trial / FOLDER / _DRAFT
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def room(self) -> int:
        """Bytes that a further state may take: a quarter of all at least, for which states are
        dropped."""
        while self._left() < MOST_BYTES // 4 and self.thin():
            pass
        return self._left()

    def _left(self) -> int:
        return MOST_BYTES - sum(each.bytes for each in self.known)

    def add(self, new: Checkpoint, draft: Path | None = None) -> None:
        """Keep a state, or note that the one before is seen again. Raises OSError."""
        last = self.known[-1] if self.known else None
        if last and (last.digest, last.missing) == (new.digest, new.missing):
            again = replace(last, last_seconds=new.seconds, last_taken=new.taken)
            _write(_folder(self._trial, last.number), again)
            self.known[-1] = again
            return
        if len(self.known) >= MOST_STATES:
            self.thin()
        new = replace(new, number=last.number + 1 if last else 1)
        folder = _folder(self._trial, new.number)
        shutil.rmtree(folder, ignore_errors=True)
        if draft is None:
            folder.mkdir()
            _write(folder, new)
        else:
            _write(draft, new)
            draft.rename(folder)
        self.known.append(new)

    def thin(self) -> bool:
        """Drop every second state, the newest never; False when there is none to drop."""
        gone = self.known[-2::-2]
        for each in gone:
            shutil.rmtree(_folder(self._trial, each.number), ignore_errors=True)
            self.known.remove(each)
        if gone:
            self._dropped += len(gone)
            self.every *= 2
            self._write_index()
        return bool(gone)

    def _write_index(self) -> None:
        write_json(
            self._trial / FOLDER / _INDEX,
            {
                "schema": _SCHEMA,
                "asked_seconds": self._asked,
                "every_seconds": self.every,
                "dropped": self._dropped,
                "most": {"states": MOST_STATES, "bytes": MOST_BYTES},
            },
        )


def index(trial: Path) -> dict[str, Any]:
    """How the checkpoints of a trial were taken; nothing where none were."""
    try:
        return read_object(trial / FOLDER / _INDEX)
    except UnreadableRecord:
        return {}


def read(trial: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints in a trial's folder, oldest first; what is torn is left out."""
    folders = (trial / FOLDER).glob("[0-9]*/") if (trial / FOLDER).is_dir() else ()
    found = [_read(folder) for folder in folders if folder.name.isdecimal()]
    return tuple(sorted((each for each in found if each), key=lambda each: each.number))


def _folder(trial: Path, number: int) -> Path:
    return trial / FOLDER / f"{number:03}"


def _write(folder: Path, checkpoint: Checkpoint) -> None:
    value = asdict(checkpoint)
    for name in ("taken", "last_taken"):
        value[name] = value[name].isoformat(timespec="milliseconds")
    write_json(folder / "checkpoint.json", {"schema": _SCHEMA, **value})


def _read(folder: Path) -> Checkpoint | None:
    try:
        record = read_object(folder / "checkpoint.json")
    except UnreadableRecord:
        return None
    taken, last = moment(record.get("taken")), moment(record.get("last_taken"))
    seconds, until = number(record.get("seconds")), number(record.get("last_seconds"))
    if taken is None or last is None or seconds is None or until is None:
        return None
    return Checkpoint(
        number=int(folder.name),
        seconds=seconds,
        taken=taken,
        last_seconds=until,
        last_taken=last,
        digest=word(record.get("digest"), 64),
        deliverables=tuple(
            _delivered(mapping(each)) for each in sequence(record.get("deliverables"))
        ),
        missing=word(record.get("missing"), 400),
    )


def _delivered(record: Any) -> Delivered:
    stored = word(record.get("stored_as"), 20)
    return Delivered(
        path=word(record.get("path"), 4096),
        kind=word(record.get("kind"), 20),
        stored_as=stored if stored.isdecimal() else "",
        bytes=count(record.get("bytes")) or 0,
        apparent_bytes=count(record.get("apparent_bytes")) or 0,
        why=word(record.get("why"), 400),
    )

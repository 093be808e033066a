"""Results of two versions of a task never mix: each version is a task with a name of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec.structs import replace

from benchflow.results.records import Record

_DIGITS = 8


def apart(records: Iterable[Record]) -> tuple[Record, ...]:
    """The same records; a task that occurs in several versions, contents or hint levels is named
    `task@version`, `task#digest` or `task +hint N`, as far as it takes to tell them apart.

    Done twice it changes nothing more.
    """
    everything = tuple(records)
    kinds: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
    for record in everything:
        kinds[record.task].add(_kind(record))
    if all(len(found) == 1 for found in kinds.values()):
        return everything
    names = {
        (task, kind): _name(task, kind, found) for task, found in kinds.items() for kind in found
    }
    return tuple(
        record
        if (name := names[record.task, _kind(record)]) == record.task
        else replace(record, task=name)
        for record in everything
    )


def _kind(record: Record) -> tuple[str, str, int]:
    return record.task_version, record.task_digest, record.hint or 0


def _name(task: str, kind: tuple[str, str, int], found: set[tuple[str, str, int]]) -> str:
    version, digest, hint = kind
    name = task
    if len({other[0] for other in found}) > 1:
        name += f"@{version or '?'}"
    if len({other[1] for other in found if other[0] == version}) > 1:
        name += f"#{digest[:_DIGITS] or '?'}"
    if hint and len({other[2] for other in found if other[:2] == kind[:2]}) > 1:
        name += f" +hint {hint}"
    return name

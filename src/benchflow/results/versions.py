"""Results of two versions of a task never mix: each version is a task with a name of its own.

Who did not write down which version it was may have tried any of them. Such trials are tasks of
their own, too, which is said, until somebody who knows better joins them (`settled`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from benchflow.results.model import Problem
from benchflow.results.records import FROM_ORACLE, Collection, Record

_DIGITS = 8
#: Version, digest, hint level, and whether a sequel began from the agent's own earlier trial.
type _Kind = tuple[str, str, int, bool]


def apart(records: Iterable[Record]) -> tuple[Record, ...]:
    """The same records; a task that occurs in several versions, contents or hint levels, or a
    sequel that began from the authors' work and from the agent's own, is named `task@version`,
    `task#digest`, `task +hint N` or `task +own start`, as far as it takes to tell them apart.

    Done twice it changes nothing more.
    """
    everything = tuple(records)
    kinds: dict[str, set[_Kind]] = defaultdict(set)
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


def bare_name(task: str) -> str:
    """The name without what `apart` adds to tell versions, contents, hints and beginnings."""
    return re.split("[@#]| [+]", task, maxsplit=1)[0]


class _Unknown(NamedTuple):
    """Trials of one source that stand alone for want of a version or digest."""

    trials: int
    tasks: set[str]
    ambiguous: bool


def settled(collection: Collection, *, assume: bool) -> Collection:
    """`collection` with a problem for each source whose trials do not say which version of a task
    they tried, where others do. With `assume` such trials count as trials of the one version that
    the others name; where they name several, they cannot.
    """
    kinds: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for record in collection.records:
        kinds[record.task].add((record.task_version, record.task_digest))
    if all(len(found) == 1 for found in kinds.values()):
        return collection
    unknown: dict[Path, _Unknown] = {}
    records = []
    for record in collection.records:
        own, found = (record.task_version, record.task_digest), kinds[record.task]
        versions, digests = _may_be(own, found)
        is_one = len(versions) <= 1 and len(digests) <= 1
        is_alone = not all(own) and _full(own, versions, digests)
        if is_alone and assume and is_one:
            version, digest = "".join(versions), "".join(digests)
            record = replace(record, task_version=version, task_digest=digest)
        elif is_alone:
            before = unknown.get(record.source, _Unknown(0, set(), False))
            tasks = before.tasks | {record.task}
            ambiguous = before.ambiguous or (assume and not is_one)
            unknown[record.source] = _Unknown(before.trials + 1, tasks, ambiguous)
        records.append(record)
    problems = [Problem(source, _said(one)) for source, one in unknown.items()]
    return Collection(tuple(records), (*collection.problems, *problems), collection.unfinished)


def _may_be(own: tuple[str, str], found: set[tuple[str, str]]) -> tuple[set[str], set[str]]:
    """The versions and digests that a trial may be of, by what is known of it and of others."""
    near = [
        other
        for other in found
        if all(not one or not two or one == two for one, two in zip(own, other, strict=True))
    ]
    return {version for version, _ in near if version}, {digest for _, digest in near if digest}


def _full(own: tuple[str, str], versions: set[str], digests: set[str]) -> bool:
    """Whether others know what is not known of `own`."""
    return (not own[0] and bool(versions)) or (not own[1] and bool(digests))


def _said(one: _Unknown) -> str:
    trials = "1 trial" if one.trials == 1 else f"{one.trials} trials"
    tasks = "1 task" if len(one.tasks) == 1 else f"{len(one.tasks)} tasks"
    does = "does" if one.trials == 1 else "do"
    said = f"{trials} of {tasks} {does} not say which version was tried and"
    if one.ambiguous:
        return f"{said} may be of several that stand here: they count as tasks of their own"
    return f"{said} count as tasks of their own; --assume-version joins them to the one known"


def _kind(record: Record) -> _Kind:
    own = record.began_from not in ("", FROM_ORACLE)
    return record.task_version, record.task_digest, record.hint or 0, own


def _name(task: str, kind: _Kind, found: set[_Kind]) -> str:
    version, digest, hint, own = kind
    name = task
    if len({other[0] for other in found}) > 1:
        name += f"@{version or '?'}"
    if len({other[1] for other in found if other[0] == version}) > 1:
        name += f"#{digest[:_DIGITS] or '?'}"
    if hint and len({other[2] for other in found if other[:2] == kind[:2]}) > 1:
        name += f" +hint {hint}"
    if own and len({other[3] for other in found if other[:3] == kind[:3]}) > 1:
        name += " +own start"
    return name

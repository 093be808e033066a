"""One module a format. A source is a path; what it is, is decided by its content."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from benchflow.results.jobs.unfinished import Unfinished
from benchflow.results.model import Problem
from benchflow.results.readers import atif, inspect_log, inspect_steps
from benchflow.results.readers.detect import How, read_source
from benchflow.results.records import Collection, Format, Keeper, Record, Step, uid_of
from benchflow.results.safe_files import UnreadableRecord


def read_all(paths: list[Path], how: How) -> Collection:
    """`benchflow.results.collect.collect`."""
    records: dict[str, Record] = {}
    problems: list[Problem] = []
    unfinished: dict[Path, Unfinished] = {}
    for path in paths:
        with _no_collector():
            found = read_source(path, how)
        problems += found.problems
        unfinished.update((one.path.absolute(), one) for one in found.unfinished)
        # Published lists use a trial's name more than once; only another source repeats a trial.
        times: Counter[str] = Counter()
        for record in found.records:
            names = (record.job, record.agent, record.model, record.task, record.trial)
            first = record.uid or uid_of(*names)
            uid = uid_of(*names, times[first]) if times[first] else first
            times[first] += 1
            if (uid != first or uid in records) and how.keeper:
                record = _not_kept(records, record, first, how.keeper)
            if uid not in records:
                records[uid] = record if record.uid == uid else replace(record, uid=uid)
            elif not _same(records[uid], record):
                where = records[uid].source
                problems.append(
                    Problem(path, f"{record.trial} stands in {where} too and differs; that counts")
                )
    return Collection(tuple(records.values()), tuple(problems), tuple(unfinished.values()))


def read_steps(record: Record) -> Iterator[Step]:
    """`benchflow.results.collect.steps`."""
    if record.format is not Format.INSPECT:
        return atif.steps(record.trajectories)
    try:
        return inspect_steps.steps(inspect_log.sample_of(record.trajectories[0], record.member))
    except (UnreadableRecord, IndexError):
        return iter(())


@contextmanager
def _no_collector() -> Iterator[None]:
    """What is read holds no cycles; looking for some among millions of objects costs a third."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _same(one: Record, other: Record) -> bool:
    return (one.verdict, one.reward, one.milestones) == (
        other.verdict,
        other.reward,
        other.milestones,
    )


def _not_kept(records: dict[str, Record], record: Record, uid: str, keeper: Keeper) -> Record:
    """`record`, whose steps may have been kept as those of another trial, as if they were not."""
    keeper.drop(uid)
    if uid in records and records[uid].kept:
        records[uid] = replace(records[uid], kept=None)
    return replace(record, kept=None)

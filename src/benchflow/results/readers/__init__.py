"""One module a format. A source is a path; what it is, is decided by its content."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchflow.errors import UsageError
from benchflow.results.model import Problem
from benchflow.results.readers import harbor, listed
from benchflow.results.records import Collection, Record, Step


def read_all(paths: list[Path], *, trajectories: bool) -> Collection:
    """`benchflow.results.records.collect`."""
    records: dict[str, Record] = {}
    problems: list[Problem] = []
    for path in paths:
        found, faults = _read(path)
        problems += faults
        # Published lists use a trial's name more than once; only another source repeats a trial.
        times: Counter[tuple[str, ...]] = Counter()
        for record in found:
            name = (record.job, record.agent, record.model, record.task, record.trial)
            uid = _uid(*name, str(times[name]))
            times[name] += 1
            if uid in records:
                if not _same(records[uid], record):
                    problems.append(Problem(path, f"{record.trial} stands twice and differs"))
                continue
            records[uid] = replace(record, uid=uid)
    return Collection(tuple(records.values()), tuple(problems))


def read_steps(record: Record) -> Iterator[Step]:
    """`benchflow.results.records.steps`."""
    return iter(())


def _read(path: Path) -> tuple[list[Record], list[Problem]]:
    if path.is_dir():
        return harbor.read(path)
    if path.suffix == ".jsonl" and path.is_file():
        return listed.read(path)
    raise UsageError(f"{path}: not a source", hint="name a job, a folder of jobs or a .jsonl")


def _same(one: Record, other: Record) -> bool:
    return (one.verdict, one.reward, one.rungs) == (other.verdict, other.reward, other.rungs)


def _uid(*names: str) -> str:
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:12]

"""Several jobs become one: the parts of a sweep, wherever each of them ran.

What comes out is a job folder that everything reads; it is never resumed, since its trials lie
where other machines made them. Merging again adds what is new.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.base.atomic import write_json
from benchflow.errors import UsageError
from benchflow.results.jobs.layout import is_job, layout
from benchflow.results.jobs.lock import hold, is_held
from benchflow.results.json_values import count, mapping, sequence, word
from benchflow.results.safe_files import UnreadableRecord, read_bytes, read_object

RECORD = "benchflow.json"
_SCHEMA = 1
_LARGEST_RESULT = 64 << 20
_MOST_PARTS = 100_000
#: A trial on its way into the merged job; what a stopped merge left is begun again.
_COMING = ".coming-"


@dataclass(frozen=True)
class Part:
    """One job that is merged: its record, its finished trials, and how many it was to have."""

    path: Path
    record: dict[str, Any]
    trials: tuple[Path, ...]

    @property
    def planned(self) -> int:
        return count(self.record.get("n_trials")) or len(self.trials)

    @property
    def shard(self) -> str:
        return word(self.record.get("shard"), 20)


@dataclass(frozen=True)
class Merged:
    """What a merge came to. `missing`: a sentence for each trial or part that is not there."""

    folder: Path
    trials: int
    added: int
    planned: int
    missing: tuple[str, ...]


def merge(
    sources: Sequence[Path], out: Path, on_trial: Callable[[int, int], None] = lambda n, of: None
) -> Merged:
    """Copies finished trials of `sources` into the job `out`, which is new or was merged before.

    `on_trial` is told how many of how many are there. Raises UsageError, before anything is
    written, for a folder that is no job of ours, one that is being worked on, other digests of one
    task, other versions of benchflow or Harbor, and two trials of one name that differ.
    """
    before = _earlier(out)
    parts = [_part(source) for source in dict.fromkeys(source.resolve() for source in sources)]
    if any(part.path == out.resolve() for part in parts):
        raise UsageError(f"{out}: is merged into itself", hint="leave it out, or name another -o")
    records = ([before] if before else []) + [part.record for part in parts]
    _refuse_mixtures(records, [str(out)] * bool(before) + [str(part.path) for part in parts])
    coming = _new(parts, out)
    out.mkdir(parents=True, exist_ok=True)
    with hold(out, "the same benchflow merge again"):
        for left in out.glob(f"{_COMING}*"):
            shutil.rmtree(left)
        for number, trial in enumerate(coming, 1):
            draft = out / f"{_COMING}{trial.name}"
            shutil.copytree(trial, draft, symlinks=True, copy_function=_copy)
            draft.rename(out / trial.name)
            on_trial(number, len(coming))
        record = _joined(before, parts, out)
        write_json(out / RECORD, record)
    there = layout(out).finished
    planned = int(record["n_trials"])
    return Merged(out, len(there), len(coming), planned, tuple(_missing(record)))


def _copy(source: str, target: str) -> None:
    if not os.path.isfile(source):  # noqa: PTH113 (a path that copytree gives)
        return  # a device, socket or pipe of a sandbox is no evidence
    shutil.copy2(source, target, follow_symlinks=False)


def _earlier(out: Path) -> dict[str, Any] | None:
    if not out.exists():
        return None
    try:
        record = read_object(out / RECORD)
    except UnreadableRecord:
        record = {}
    if not sequence(record.get("merged")):
        if out.is_dir() and not any(p.name[:1] != "." for p in out.iterdir()):
            return None
        raise UsageError(
            f"{out}: is there and was not made by benchflow merge",
            hint="name a new folder, or one that an earlier merge made",
        )
    return dict(record)


def _part(source: Path) -> Part:
    if not source.is_dir() or not is_job(source):
        raise UsageError(f"{source}: no job here", hint="name job folders: jobs/NAME")
    if is_held(source):
        raise UsageError(
            f"{source}: is being worked on", hint="wait for it, or stop it; then merge"
        )
    try:
        record = read_object(source / RECORD)
    except UnreadableRecord as error:
        raise UsageError(
            f"{source / RECORD} {error}", hint="only jobs that benchflow started can be merged"
        ) from error
    if record.get("schema") != _SCHEMA:
        raise UsageError(f"{source}: has schema {record.get('schema')!r}; we read {_SCHEMA}")
    return Part(source, dict(record), layout(source).finished)


def _refuse_mixtures(records: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    digests: dict[tuple[str, Any, str], tuple[str, str]] = {}
    versions: dict[str, tuple[str, str]] = {}
    for record, name in zip(records, names, strict=True):
        told = {"benchflow": record.get("benchflow"), "Harbor": _harbor(record)}
        for what, version in told.items():
            first, of = versions.setdefault(what, (str(version), name))
            if str(version) != first:
                raise UsageError(
                    f"{name} was run by {what} {version}, {of} by {first}",
                    hint="results of different versions are compared, not merged: name them "
                    "together to benchflow report",
                )
        for task in map(mapping, sequence(record.get("tasks"))):
            key = (str(task.get("name")), task.get("hint"), str(task.get("began")))
            first, of = digests.setdefault(key, (str(task.get("digest")), name))
            if str(task.get("digest")) != first:
                raise UsageError(
                    f"{key[0]} in {name} has digest {str(task.get('digest'))[:12]}, in {of} "
                    f"{first[:12]}: it is not the same task",
                    hint="run the part whose task is out of date again",
                )


def _harbor(record: dict[str, Any]) -> str:
    return word(mapping(record.get("host")).get("harbor"), 40)


def _new(parts: Sequence[Part], out: Path) -> list[Path]:
    """Trials that are not in `out` yet. UsageError where one of that name is another."""
    coming: dict[str, Path] = {}
    for trial in (trial for part in parts for trial in part.trials):
        there = coming.get(trial.name) or out / trial.name
        if not there.exists():
            coming[trial.name] = trial
        elif _result(there) != _result(trial):
            raise UsageError(
                f"{trial} and {there} have one name and differ",
                hint="they are no copies of one trial: rename one of the two folders",
            )
    return list(coming.values())


def _result(trial: Path) -> bytes:
    try:
        return read_bytes(trial / "result.json", _LARGEST_RESULT)
    except UnreadableRecord as error:
        raise UsageError(f"{trial / 'result.json'} {error}") from error


def _joined(before: dict[str, Any] | None, parts: Sequence[Part], out: Path) -> dict[str, Any]:
    known = {str(each.get("job")): each for each in map(dict, _merged(before))}
    for part in parts:
        known[part.path.name] = {
            "job": part.path.name,
            "shard": part.shard,
            "host": part.record.get("host"),
            "n_trials": part.planned,
            "trials": [trial.name for trial in part.trials],
        }
    records = ([before] if before else []) + [part.record for part in parts]
    first = records[0]
    return {
        "schema": _SCHEMA,
        "benchflow": first.get("benchflow"),
        "created": min(str(record.get("created")) for record in records),
        "job": out.name,
        "sweep": "",  # its parts are the sweep's: a trial that is in both would count twice
        "tasks": _once((task for record in records for task in record["tasks"]), "staged"),
        "agents": _words(records, "agents"),
        "models": _words(records, "models"),
        "attempts": max(count(record.get("attempts")) or 1 for record in records),
        "sandbox": first.get("sandbox"),
        "n_trials": sum(each["n_trials"] for each in known.values()),
        "host": {"harbor": _harbor(first)},
        "merged": [known[name] for name in sorted(known)],
        "merged_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _merged(record: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [dict(mapping(each)) for each in sequence((record or {}).get("merged"))]


def _once(tasks: Iterable[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return list({str(task.get(key)): task for task in tasks}.values())


def _words(records: Iterable[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(word for record in records for word in sequence(record.get(key))))


def _missing(record: dict[str, Any]) -> list[str]:
    said = []
    shards: dict[int, set[int]] = {}
    for each in _merged(record):
        lacks = each["n_trials"] - len(each["trials"])
        if lacks > 0:
            said.append(f"{each['job']}: {lacks} of {each['n_trials']} trials have no result")
        index, _, parts = word(each.get("shard"), 20).partition("/")
        if index.isdigit() and parts.isdigit():
            shards.setdefault(min(int(parts), _MOST_PARTS), set()).add(int(index))
    for of, indexes in sorted(shards.items()):
        if absent := [str(n) for n in range(1, of + 1) if n not in indexes]:
            shown = ", ".join(absent[:20]) + (" …" if len(absent) > 20 else "")
            said.append(f"of {of} parts of the sweep, {len(absent)} are not here: {shown}")
    return said

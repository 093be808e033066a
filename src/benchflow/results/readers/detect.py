"""What a path is, by what it holds; folders of sources are looked through."""

from __future__ import annotations

import codecs
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchflow.errors import UsageError
from benchflow.results.jobs.layout import is_job, is_trial
from benchflow.results.jobs.unfinished import Unfinished
from benchflow.results.json_values import mapping
from benchflow.results.model import Problem
from benchflow.results.readers import atif, harbor, inspect_log, jsonl, terminal_bench
from benchflow.results.readers.atif_document import is_atif
from benchflow.results.records import Keeper, Record
from benchflow.results.safe_files import UnreadableRecord, read_bytes

#: How deep below a source its jobs, runs and files are looked for.
MAX_DEPTH = 4
_RECORD_NAMES = (".json", ".jsonl", ".eval")
_HINT = (
    "a source is a job, a folder of jobs, a .jsonl list of trials, an ATIF trajectory, "
    "a Terminal-Bench run or an Inspect log (docs/results.md)"
)


class Found(NamedTuple):
    """What is in a source."""

    records: list[Record]
    problems: list[Problem]
    unfinished: Sequence[Unfinished] = ()


@dataclass(frozen=True)
class How:
    """See `benchflow.results.collect.collect`."""

    trajectories: bool
    workers: int
    keeper: Keeper | None = None


def read_source(path: Path, how: How) -> Found:
    """Everything at `path`. Raises UsageError where it does not exist or is nothing we know."""
    if not path.exists():
        raise UsageError(f"{path}: there is nothing", hint=_HINT)
    if path.is_dir():
        found = _folder(path, path, how, 0)
        if found is None:
            raise UsageError(f"{path}: no job here and no other results", hint=_HINT)
        return found
    found = _child(path, path, how, 0)
    if found is None:
        raise UsageError(f"{path}: not a source", hint=_HINT)
    return found


def _folder(source: Path, folder: Path, how: How, depth: int) -> Found | None:
    if is_trial(folder):
        return Found(*harbor.read_alone(source, folder, how.trajectories, how.keeper))
    if is_job(folder):
        return Found(*harbor.read(source, folder, how.trajectories, how.workers, how.keeper))
    if terminal_bench.is_run(folder):
        return Found(*terminal_bench.read(source, folder))
    records: list[Record] = []
    problems: list[Problem] = []
    unfinished: list[Unfinished] = []
    others: list[Problem] = []
    recognised = False
    for child in sorted(folder.iterdir()):
        if child.name.startswith(".") or not (child.is_dir() or child.suffix in _RECORD_NAMES):
            continue
        if child.is_symlink():
            others.append(Problem(child, "is a link: name what it points to as a source"))
            continue
        if child.is_dir() and depth == MAX_DEPTH:
            others.append(Problem(child, "lies too deep: name it as a source"))
            continue
        found = _child(source, child, how, depth)
        if found is None:
            others.append(Problem(child, "is nothing that we can read results from"))
            continue
        recognised = True
        records += found.records
        problems += found.problems
        unfinished += found.unfinished
    return Found(records, [*problems, *others], unfinished) if recognised else None


def _child(source: Path, child: Path, how: How, depth: int) -> Found | None:
    try:
        if child.is_dir():
            return _folder(source, child, how, depth + 1)
        return _file(source, child, how) if child.is_file() else None
    except PermissionError as error:
        return Found([], [Problem(Path(error.filename or child), "may not be read by you")])


def _file(source: Path, path: Path, how: How) -> Found | None:
    with path.open("rb") as file:
        start = file.read(4).removeprefix(codecs.BOM_UTF8)
    if start in (b"PK\x03\x04", b"PK\x05\x06") or path.suffix == ".eval":
        return _archive(source, path, how)
    if path.suffix != ".jsonl" and start.lstrip()[:1] == b"{" and _is_document(path):
        return _document(source, path)
    return Found(*jsonl.read(path)) if jsonl.is_list(path) else None


def _archive(source: Path, path: Path, how: How) -> Found | None:
    if path.suffix != ".eval":
        try:
            with zipfile.ZipFile(path) as archive:
                if "_journal/start.json" not in archive.namelist():
                    return None
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return None
    return Found(*inspect_log.read(source, path, how.trajectories))


def _is_document(path: Path) -> bool:
    """One JSON value and not a list of them, one a line: the first line alone is no whole one."""
    with path.open("rb") as file:
        first = file.readline(jsonl.MAX_LINE)
        if not file.read(1):
            return True
    try:
        json.loads(first.removeprefix(codecs.BOM_UTF8))
    except (ValueError, RecursionError):
        return True
    return False


def _document(source: Path, path: Path) -> Found | None:
    try:
        value: Any = json.loads(read_bytes(path, atif.MAX_BYTES).removeprefix(codecs.BOM_UTF8))
    except UnreadableRecord as error:
        return Found([], [Problem(path, str(error))])
    except (ValueError, RecursionError):
        return Found([], [Problem(path, "is torn or no JSON")])
    if is_atif(mapping(value).get("schema_version")):
        return Found(*atif.read(path))
    if inspect_log.is_log(value):
        return Found(*inspect_log.read_json(source, path))
    if terminal_bench.is_results(value):
        if path.name == "results.json":
            return Found(*terminal_bench.read(source, path.parent))
        return Found(*terminal_bench.read_summary(source, path))
    keys = value.keys() if isinstance(value, dict) else ()
    return Found(*jsonl.read(path)) if {"agent", "task", "trial"} <= set(keys) else None

"""Trials from anywhere in one shape: our jobs, any Harbor job, published lists of trials."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.errors import UsageError
from benchflow.results.model import Problem, Verdict
from benchflow.results.read import find_jobs, read_job
from benchflow.results.text import one_line


@dataclass(frozen=True)
class Row:
    """One trial. `who` is agent and model; `rungs` and `passed` are 0 where there is no ladder."""

    who: str
    task: str
    trial: str
    verdict: Verdict
    passed: int = 0
    rungs: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of several sources, and everything in them that could not be read."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def read_sources(paths: list[Path]) -> Table:
    """Reads each path: a job folder, a folder of jobs, or a `.jsonl` file of trials.

    Lines of a `.jsonl` file are objects with `agent`, `model`, `task`, `trial` and `resolved`
    (true, false, or null for an infrastructure error). A trial that stands in two sources counts
    once. Raises UsageError for a path that is none of these.
    """
    rows: dict[tuple[str, str, str, int], Row] = {}
    problems: list[Problem] = []
    for path in paths:
        found, faults = _read_lines(path) if path.is_file() else _read_jobs(path)
        problems += faults
        # Published lists use a trial's name more than once; only another source repeats a trial.
        times: Counter[tuple[str, str, str]] = Counter()
        for row in found:
            name = (row.who, row.task, row.trial)
            key = (*name, times[name])
            times[name] += 1
            if key in rows and rows[key] != row:
                problems.append(Problem(path, f"{row.trial} stands twice and differs"))
            rows.setdefault(key, row)
    return Table(tuple(rows.values()), tuple(problems))


def _read_jobs(path: Path) -> tuple[list[Row], list[Problem]]:
    rows: list[Row] = []
    problems: list[Problem] = []
    for folder in find_jobs(path):
        job = read_job(folder)
        problems += job.problems
        rows += [
            Row(
                who=f"{trial.agent} {trial.model}".strip(),
                task=trial.task,
                trial=f"{job.name}/{trial.name}",
                verdict=trial.verdict,
                passed=trial.n_passed,
                rungs=len(trial.milestones),
                seconds=trial.phases.agent,
            )
            for trial in job.trials
        ]
    return rows, problems


def _read_lines(path: Path) -> tuple[list[Row], list[Problem]]:
    if path.suffix != ".jsonl":
        raise UsageError(f"{path}: not a source", hint="name a job, a folder of jobs or a .jsonl")
    rows: list[Row] = []
    problems: list[Problem] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                rows.append(_row(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                problems.append(Problem(path, f"line {number}: {type(error).__name__}: {error}"))
    return rows, problems


def _row(data: dict[str, Any]) -> Row:
    resolved = data["resolved"]
    if resolved is None:
        verdict = Verdict.ERROR
    elif isinstance(resolved, bool):
        verdict = Verdict.RESOLVED if resolved else Verdict.FAILED
    else:
        raise ValueError(f"resolved is {resolved!r}")
    tests = data.get("tests") or {}
    names = (str(data["agent"]), str(data.get("model") or ""))
    return Row(
        who=one_line(" ".join(names).strip(), 80),
        task=one_line(str(data["task"]), 120),
        # Two submissions may use one trial name for runs of different agents.
        trial=one_line(f"{data.get('submission', '')}/{data['trial']}", 200),
        verdict=verdict,
        passed=sum(value is True for value in tests.values()),
        rungs=len(tests),
    )

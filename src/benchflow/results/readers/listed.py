"""Lists of trials: a `.jsonl` file, one object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchflow.results.model import Problem, Usage, Verdict
from benchflow.results.records import Format, Record, Rung
from benchflow.results.text import one_line


def read(path: Path) -> tuple[list[Record], list[Problem]]:
    """Objects with `agent`, `model`, `task`, `trial` and `resolved`; docs/results.md has the rest.

    `resolved` is true, false, or null for an infrastructure error.
    """
    records: list[Record] = []
    problems: list[Problem] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                records.append(_record(path, json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                problems.append(Problem(path, f"line {number}: {type(error).__name__}: {error}"))
    return records, problems


def _record(path: Path, data: dict[str, Any]) -> Record:
    resolved = data["resolved"]
    if resolved is None:
        verdict = Verdict.ERROR
    elif isinstance(resolved, bool):
        verdict = Verdict.RESOLVED if resolved else Verdict.FAILED
    else:
        raise ValueError(f"resolved is {resolved!r}")
    tests = data.get("tests") or {}
    return Record(
        uid="",
        source=path,
        format=Format.LIST,
        job=one_line(str(data.get("submission") or ""), 120),
        trial=one_line(str(data["trial"]), 200),
        agent=one_line(str(data["agent"]), 80),
        model=one_line(str(data.get("model") or ""), 80),
        task=one_line(str(data["task"]), 120),
        verdict=verdict,
        failure_mode=one_line(str(data.get("failure_mode") or ""), 80),
        rungs=tuple(
            Rung(one_line(str(name), 120), "passed" if value is True else "failed")
            for name, value in tests.items()
        ),
        rung_kind="test" if tests else "",
        usage=Usage(data.get("n_input_tokens"), data.get("n_output_tokens")),
    )

"""Records made by hand, for tests of what is said about them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from benchflow.results.model import Phases, Usage, Verdict
from benchflow.results.records import Collection, Format, Milestone, Record

#: Steps of the longest trajectory that pages are tried with.
LONG = 50_000

_NUMBERS = itertools.count(1)
_VERDICTS = {None: Verdict.ERROR, True: Verdict.RESOLVED, False: Verdict.FAILED}


def record(
    task: str = "t",
    resolved: bool | None = False,
    *,
    agent: str = "a",
    model: str = "m",
    minutes: float | None = None,
    tokens: int | None = None,
    dollars: float | None = None,
    **more: Any,
) -> Record:
    """One trial; `resolved` None is an infrastructure error."""
    number = next(_NUMBERS)
    return Record(
        uid=f"{number:012x}",
        source=Path("made-up.jsonl"),
        format=Format.LIST,
        job="made-up",
        trial=f"{task}.{number}",
        agent=agent,
        model=model,
        task=task,
        verdict=_VERDICTS[resolved],
        phases=Phases(agent=None if minutes is None else 60 * minutes),
        usage=Usage(tokens, None if tokens is None else 0, dollars),
        **more,
    )


def ladder(*statuses: str, message: str = "") -> tuple[Milestone, ...]:
    """Milestones m0, m1 … with these statuses; `message` on the first that failed."""
    first = statuses.index("failed") if "failed" in statuses else -1
    return tuple(
        Milestone(id=f"m{i}", status=status, message=message if i == first else "")
        for i, status in enumerate(statuses)
    )


def collection(*records: Record) -> Collection:
    return Collection(records, ())

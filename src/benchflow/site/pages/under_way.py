"""Trials without a result: under way where a process works on their job, else left unfinished."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchflow.base import numbers
from benchflow.results.jobs.unfinished import Unfinished
from benchflow.site.page_model import Block, Cell, Column, Section, Table
from benchflow.site.pages.common import nothing, text
from benchflow.site.study import Study

_SHOWN = 200
_MARKS = {"passed": "●", "failed": "○", "not reached": "·", "": "·"}


def section(study: Study) -> Section:
    """What is under way; on a page that is not served, as of when."""
    running = any(one.running for one in study.collection.unfinished)
    title = "Under way" if running else "Not finished"
    return Section("under-way", title, tuple(_blocks(study)))


def _blocks(study: Study) -> Iterator[Block]:
    found = sorted(study.collection.unfinished, key=lambda one: (not one.running, one.started or 0))
    if not found:
        return
    now = time.time()
    running = sum(one.running for one in found)
    said = [f"{numbers.plural(running, 'trial')} at work"] if running else []
    if len(found) > running:
        left = numbers.plural(len(found) - running, "trial")
        said.append(f"{left} left unfinished: nobody works on the job (benchflow resume)")
    as_of = "" if study.live else f", as of {numbers.moment(numbers.iso(now))}"
    yield nothing(f"{'; '.join(said)}{as_of}. Nobody has judged that yet: it is in no figure.")
    columns = (
        Column("trial", "Trial"),
        Column("task", "Task"),
        Column("who", "Agent and model"),
        Column("phase", "Phase"),
        Column("elapsed", "Time so far", numeric=True),
        Column("ladder", "Ladder so far"),
        Column("note", "Last check"),
    )
    yield Table("under-way", "", columns, tuple(_row(one, now) for one in found[:_SHOWN]))
    if len(found) > _SHOWN:
        yield nothing(f"The first {_SHOWN} of {len(found):,}.")


def _row(one: Unfinished, now: float) -> tuple[Cell, ...]:
    end = now if one.running else one.changed
    elapsed = None if one.started is None or end is None else max(end - one.started, 0.0)
    return (
        text(one.trial),
        text(one.task),
        text(one.who),
        text(one.phase if one.running else f"stopped: {one.phase}"),
        Cell(elapsed, numbers.duration(elapsed), since=one.started if one.running else None),
        _ladder(one),
        text(one.note),
    )


def _ladder(one: Unfinished) -> Cell:
    if not one.milestones:
        return Cell(None, numbers.MISSING)
    marks = "".join(_MARKS[status] for _, status in one.milestones)
    value = {milestone: status or None for milestone, status in one.milestones}
    told = ", ".join(f"{milestone} {status}" for milestone, status in value.items() if status)
    return Cell(value, f"{one.n_passed} of {len(one.milestones)} {marks}", note=told)

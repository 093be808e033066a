"""How far each gets: rungs passed, by agent and model and by task."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from benchflow.analysis.estimate import Outcomes
from benchflow.analysis.rates import Rate, rate
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.site import charts, words
from benchflow.site.content import Block, Cell, Column, Figure, Page, Section, Table
from benchflow.site.pages.common import (
    Put,
    half_cell,
    heat,
    nothing,
    number,
    rate_cell,
    text,
    who_cell,
)
from benchflow.site.study import Study

_MOST_CLIMBS = 12


def make(study: Study, put: Put) -> Page:
    """Rungs passed over all tasks, then task by task."""
    judged = [r for r in study.records if r.rungs and r.verdict is not Verdict.ERROR]
    kinds = sorted({record.rung_kind for record in judged})
    noun = " and ".join(f"{kind}s" for kind in kinds) or "milestones"
    sections = (
        [Section("none", "", (nothing("No trial of these sources has milestones or tests."),))]
        if not judged
        else [
            Section("far", "Over all tasks", _overall(study, judged, noun)),
            Section("climbs", "Task by task", _climbs(study, judged)),
            Section("tasks", "Every task", (_by_task(study, judged),)),
        ]
    )
    return Page(
        path="ladders.html",
        title="How far each gets",
        lede=(
            f"Not only whether a trial resolved its task, but how many of its {noun} it passed.",
        ),
        sections=tuple(section for section in sections if section.blocks),
        nav="ladders.html",
    )


def rungs_rate(records: list[Record], level: float) -> tuple[float, Rate | None, int]:
    """Rungs passed over rungs there are, with the task as the unit; and the number of tasks."""
    passed: dict[str, int] = defaultdict(int)
    of: dict[str, int] = defaultdict(int)
    for record in records:
        passed[record.task] += record.n_passed
        of[record.task] += len(record.rungs)
    outcomes = Outcomes(
        tuple(of), np.array([passed[task] for task in of]), np.array(list(of.values()))
    )
    value = float(outcomes.successes.sum() / outcomes.n_trials)
    return value, rate(outcomes, level) if len(of) > 1 else None, len(of)


def _overall(study: Study, judged: list[Record], noun: str) -> tuple[Block, ...]:
    by_who: dict[str, list[Record]] = defaultdict(list)
    for record in judged:
        by_who[record.who].append(record)
    found = {who: rungs_rate(records, study.level) for who, records in by_who.items()}
    order = sorted(found, key=lambda who: (-found[who][0], who))
    rows = []
    for who in order:
        value, honest, n_tasks = found[who]
        total = honest.total if honest else None
        rows.append(
            (
                who_cell(study, who),
                # Rungs of one trial hang together: an interval of re-runs from them would be a lie.
                rate_cell(replace(honest, rerun_only=None) if honest else None, value),
                half_cell((total.low, total.high) if total else None),
                number(n_tasks),
                number(len(by_who[who])),
            )
        )
    table = Table(
        "rungs",
        "",
        (
            Column("who", "Agent and model"),
            Column("share", f"Of all {noun}", numeric=True),
            Column("half", "± other tasks", numeric=True),
            Column("tasks", "Tasks", numeric=True),
            Column("trials", "Trials", numeric=True),
        ),
        tuple(rows),
    )
    points = [
        {
            "name": who,
            "value": 100 * found[who][0],
            "low": 100 * honest.total.low,
            "high": 100 * honest.total.high,
            "inner_low": None,
            "inner_high": None,
        }
        for who in order
        if (honest := found[who][1]) is not None
    ]
    if not points:
        return (table,)
    svg = charts.intervals(points, f"{noun} passed, %", [0, 100], f"{noun} passed")
    reading = f"With the {100 * study.level:.0f} % interval for other tasks of the same kind."
    return (Figure("rungs", f"Share of all {noun} that passed", reading, svg, table),)


def _climbs(study: Study, judged: list[Record]) -> tuple[Block, ...]:
    """For tasks with milestones: the share of trials that passed each rung, by entry."""
    tasks: dict[str, list[Record]] = defaultdict(list)
    for record in judged:
        if record.rung_kind == "milestone":
            tasks[record.task].append(record)
    return tuple(
        _climb(study, task, records) for task, records in sorted(tasks.items())[:_MOST_CLIMBS]
    )


def _climb(study: Study, task: str, records: list[Record]) -> Figure:
    rungs = list(dict.fromkeys(rung.id for record in records for rung in record.rungs))
    entries = [who for who in study.entries if any(r.who == who for r in records)]
    points, rows = [], []
    for at, rung in enumerate(rungs, 1):
        cells = [text(rung)]
        for who in entries:
            mine = [r for r in records if r.who == who]
            value = sum(any(x.id == rung and x.passed for x in r.rungs) for r in mine) / len(mine)
            points.append({"rung": f"{at}. {rung}", "name": who, "value": value})
            cells.append(Cell(value, words.percent(value, 0), tone=heat(value)))
        rows.append(tuple(cells))
    svg = charts.lines(
        points,
        {
            "field": "rung",
            "type": "ordinal",
            "sort": None,
            "axis": {"title": None, "labelAngle": -35, "labelLimit": 130},
        },
        {
            "field": "value",
            "type": "quantitative",
            "axis": {"format": "%", "title": None, "tickCount": 5},
            "scale": {"domain": [0, 1]},
        },
        entries,
        f"Milestones of {task} passed",
    )
    table = Table(
        f"climb-{study.task_page(task).removeprefix('tasks/').removesuffix('.html')}",
        "",
        (Column("rung", "Milestone"), *(Column(who, who) for who in entries)),
        tuple(rows),
        look="heat",
    )
    n = words.plural(len(records), "trial")
    return Figure(table.key, task, f"Share of trials that passed each milestone; {n}.", svg, table)


def _by_task(study: Study, judged: list[Record]) -> Table:
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in judged:
        cells[record.task, record.who].append(record.n_passed / len(record.rungs))
    tasks = sorted({record.task for record in judged})
    entries = [who for who in study.entries if any((task, who) in cells for task in tasks)]
    rows = []
    for task in tasks:
        row = [text(task, study.task_page(task))]
        for who in entries:
            shares = cells.get((task, who))
            if not shares:
                row.append(Cell(None, "", tone="none"))
                continue
            value = sum(shares) / len(shares)
            href = study.trials_of(who, task)
            row.append(Cell(value, words.percent(value, 0), href=href, tone=heat(value)))
        rows.append(tuple(row))
    columns = (
        Column("task", "Task"),
        *(Column(who, who, href=study.entry_page(who)) for who in entries),
    )
    return Table(
        "every", "Mean share of rungs passed.", columns, tuple(rows), look="heat", tools=True
    )

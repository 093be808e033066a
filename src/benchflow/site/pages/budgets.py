"""Minutes, tokens and dollars: scores under smaller budgets, how soon, and who is worth it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchflow.analysis.budget import Front
from benchflow.base import numbers
from benchflow.site import charts
from benchflow.site.page_model import Block, Cell, Column, Figure, Page, Section, Table
from benchflow.site.pages.common import Put, by_reason, nothing, share_cell, text, who_cell
from benchflow.site.study import Study
from benchflow.study.budget_stats import GOALS, Budgets, Reach, Worth, budgets, reach, worth


@dataclass(frozen=True)
class _Measure:
    title: str
    axis: str
    shown: Callable[[float], str]


_MEASURES = {
    "minutes": _Measure("Working time", "minutes of the agent", lambda v: numbers.duration(60 * v)),
    "tokens": _Measure("Tokens", "tokens, in and out, as reported", numbers.count),
    "dollars": _Measure("Dollars", "dollars, as reported", numbers.dollars),
}


def make(study: Study, put: Put) -> Page:
    """A section for each measure."""
    found = {one.measure: one for one in budgets(study.trials, study.level)}
    return Page(
        path="budgets.html",
        title="Budgets and time",
        lede=(
            "What would have been resolved had every trial been cut at a smaller budget, how soon "
            "each gets there, and who is on the front of score against cost.",
        ),
        sections=tuple(
            Section(key, measure.title, tuple(_blocks(study, found[key], measure)))
            for key, measure in _MEASURES.items()
        ),
        nav="budgets.html",
    )


def _blocks(study: Study, found: Budgets, measure: _Measure) -> Iterator[Block]:
    if not found.recorded:
        yield nothing("Not recorded in these sources.")
        return
    if found.curves:
        yield _budgets(found, measure)
        yield from _worth(study, worth(study.trials, found.measure, study.level), measure)
    if found.measure == "minutes":
        for goal in GOALS:
            soon = reach(study.trials, found.measure, goal, study.level)
            if soon.curves and any(float(c.share[-1]) > 0 for c in soon.curves.values()):
                yield _reach(soon, measure)
    if found.refused:
        yield nothing("Left out: " + _reasons(found.refused) + ".")


def _reasons(refused: Mapping[str, str]) -> str:
    return "; ".join(f"{names}, because {why}" for why, names in by_reason(refused))


def _budgets(found: Budgets, measure: _Measure) -> Figure:
    names = list(found.curves)
    points, rows = [], []
    for place, budget in enumerate(found.at.tolist()):
        cells = [Cell(budget, measure.shown(budget))]
        for who, curve in found.curves.items():
            rate = curve.rates[place]
            points.append(_point(budget, who, rate.value, rate.low, rate.high))
            cells.append(_with_interval(rate.value, rate.low, rate.high))
        rows.append(tuple(cells))
    unknown = sum(curve.unknown for curve in found.curves.values())
    said = "A success that took more than the budget counts as a failure; the denominator is all "
    said += "trials."
    if unknown:
        said += (
            f" {numbers.plural(unknown, 'success', 'successes')} without a record count as beyond"
        )
        said += " every budget."
    key = f"within-{found.measure}"
    title = f"Resolved within a budget: {measure.axis}"
    return Figure(
        key, title, said, _lines(points, names, measure, title), _table(key, measure, names, rows)
    )


def _reach(found: Reach, measure: _Measure) -> Figure:
    names = list(found.curves)
    points, rows = [], []
    first = next(iter(found.curves.values()))
    for place, amount in enumerate(first.at.tolist()):
        cells = [Cell(amount, measure.shown(amount))]
        for who, curve in found.curves.items():
            value, low, high = (float(a[place]) for a in (curve.share, curve.low, curve.high))
            if math.isfinite(value):
                points.append(_point(amount, who, value, low, high))
            cells.append(_with_interval(value, low, high))
        rows.append(tuple(cells))
    said = "Cumulative incidence; a trial that ended by itself can no longer get there, one that "
    said += "was cut off still could."
    if not found.measured:
        said += (
            " The moments are when the work was handed over: the latest that they can have been."
        )
    key = f"reach-{found.measure}-{found.goal.replace(' ', '-')}"
    title = f"How soon: {found.goal}"
    return Figure(
        key, title, said, _lines(points, names, measure, title), _table(key, measure, names, rows)
    )


def _point(x: float, who: str, value: float, low: float, high: float) -> dict[str, Any]:
    return {"x": x, "name": who, "value": value, "low": low, "high": high}


def _with_interval(value: float, low: float, high: float) -> Cell:
    note = f"{numbers.percent(low)} to {numbers.percent(high)}"
    return Cell(value, numbers.percent(value), note=note)


def _table(key: str, measure: _Measure, names: list[str], rows: list[tuple[Cell, ...]]) -> Table:
    columns = (Column("at", measure.axis), *(Column(who, who, numeric=True) for who in names))
    return Table(key, "", columns, tuple(rows))


def _lines(points: list[dict[str, Any]], names: list[str], measure: _Measure, title: str) -> str:
    amounts = [point["x"] for point in points if point["x"] > 0]
    wide = bool(amounts) and max(amounts) / min(amounts) > 30
    return charts.lines(
        [point for point in points if point["x"] > 0] if wide else points,
        {
            "field": "x",
            "type": "quantitative",
            "axis": {"title": measure.axis, "tickCount": 6, "grid": False},
            "scale": {"type": "log" if wide else "linear", "nice": False},
        },
        {
            "field": "value",
            "type": "quantitative",
            "axis": {"format": "%", "title": None, "tickCount": 5},
            "scale": {"domainMin": 0},
        },
        names,
        title,
        stepped=True,
    )


def _worth(study: Study, found: Worth, measure: _Measure) -> Iterator[Block]:
    if found.front is None:
        if len(study.ranked) > 1:
            yield nothing(f"Score against {found.measure} cannot be told: {found.refused}.")
        return
    yield _front(study, found, found.front, measure)


def _front(study: Study, found: Worth, front: Front, measure: _Measure) -> Figure:
    order = sorted(range(len(front.names)), key=lambda at: float(front.cost[at]))
    points = [
        {
            "name": front.names[at],
            "x": float(front.cost[at]),
            "y": float(front.score[at]),
            "front": front.on_front[at],
            "low": float(front.low[at]),
            "high": float(front.high[at]),
        }
        for at in order
    ]
    rows = tuple(
        (
            who_cell(study, front.names[at]),
            Cell(float(front.cost[at]), measure.shown(float(front.cost[at]))),
            share_cell(float(front.score[at])),
            text("yes" if front.on_front[at] else "no"),
            share_cell(float(front.chance[at])),
        )
        for at in order
    )
    columns = (
        Column("who", "Agent and model"),
        Column("cost", f"Mean {found.measure}", numeric=True),
        Column("share", "Resolved", numeric=True),
        Column("front", "On the front"),
        Column("chance", "How often so, over redrawn tasks", numeric=True),
    )
    key = f"front-{found.measure}"
    return Figure(
        key,
        f"Score against {found.measure}",
        f"Coloured: nobody is both cheaper and better. Over the {found.n_tasks} tasks where all "
        "have a record; lines are the intervals for other tasks.",
        charts.scatter(
            points, f"mean {measure.axis}", "resolved", f"Score against {found.measure}"
        ),
        Table(key, "", columns, rows),
    )

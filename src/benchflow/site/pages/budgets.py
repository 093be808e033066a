"""Scores under smaller budgets, recomputed from the logs; who is on the front of score and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchflow.analysis.budget import Front, pareto, rate_within
from benchflow.analysis.estimate import NotEnoughData
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.site import charts, words
from benchflow.site.content import Block, Cell, Column, Figure, Page, Section, Table
from benchflow.site.pages.common import Put, nothing, share_cell, text, who_cell
from benchflow.site.study import Study, counts

_POINTS = 14
#: Below this share of trials with a known amount, a curve would be of the few that were logged.
_KNOWN = 0.5


@dataclass(frozen=True)
class Measure:
    """Something that a trial spends."""

    key: str
    title: str
    axis: str
    of: Callable[[Record], float | None]
    shown: Callable[[float], str]


MEASURES = (
    Measure(
        "minutes",
        "Working time",
        "minutes of the agent",
        lambda r: None if r.phases.agent is None else r.phases.agent / 60,
        lambda v: words.duration(60 * v),
    ),
    Measure(
        "tokens",
        "Tokens",
        "tokens, input and output, as reported",
        lambda r: (
            None
            if r.usage.input_tokens is None or r.usage.output_tokens is None
            else float(r.usage.input_tokens + r.usage.output_tokens)
        ),
        words.count,
    ),
    Measure(
        "dollars", "Dollars", "dollars, as reported", lambda r: r.usage.cost_usd, words.dollars
    ),
)


def make(study: Study, put: Put) -> Page:
    """Curves for each measure that was recorded often enough, and the front."""
    return Page(
        path="budgets.html",
        title="Budgets and time",
        lede=(
            "What would have been resolved had every trial been cut at a smaller budget: of all "
            "trials whose spending was recorded, those that had succeeded by then.",
        ),
        sections=tuple(
            Section(measure.key, measure.title, tuple(_blocks(study, measure)))
            for measure in MEASURES
        ),
        nav="budgets.html",
    )


def _blocks(study: Study, measure: Measure) -> Iterator[Block]:
    known: dict[str, list[tuple[Record, float]]] = {}
    coverage = []
    for who in study.entries:
        judged = [r for r in study.of_entry(who) if r.verdict is not Verdict.ERROR]
        spent = [(r, value) for r in judged if (value := measure.of(r)) is not None]
        coverage.append((who, len(spent), len(judged)))
        if judged and len(spent) >= _KNOWN * len(judged) and len({r.task for r, _ in spent}) > 1:
            known[who] = spent
    if not any(n for _, n, _ in coverage):
        yield nothing("Not recorded in these sources.")
        return
    left_out = [f"{who} ({n:,} of {total:,})" for who, n, total in coverage if who not in known]
    if known:
        yield _curve(study, measure, known)
        yield from _front(study, measure, known)
    if left_out:
        yield nothing(
            "Recorded for too few trials, or for one task alone, so left out: "
            + ", ".join(left_out)
            + "."
        )


def _curve(study: Study, measure: Measure, known: dict[str, list[tuple[Record, float]]]) -> Figure:
    everything = np.array([value for spent in known.values() for _, value in spent])
    quantiles = np.quantile(everything, np.linspace(0, 1, _POINTS))
    budgets = sorted({float(value) for value in quantiles})
    points, rows = [], []
    for budget in budgets:
        cells = [Cell(budget, measure.shown(budget))]
        for who, spent in known.items():
            estimate = rate_within(
                np.array([value for _, value in spent]),
                np.array([r.verdict is Verdict.RESOLVED for r, _ in spent]),
                [r.task for r, _ in spent],
                budget,
                study.level,
            )
            points.append(
                {
                    "x": budget,
                    "name": who,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                }
            )
            note = f"{words.percent(estimate.low)} to {words.percent(estimate.high)}"
            cells.append(Cell(estimate.value, words.percent(estimate.value), note=note))
        rows.append(tuple(cells))
    wide = everything.min() > 0 and everything.max() / everything.min() > 20
    svg = charts.lines(
        points,
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
        list(known),
        f"Resolved within a budget of {measure.axis}",
        stepped=True,
    )
    counted = ", ".join(
        f"{who} {len(spent):,} of {sum(counts(study.of_entry(who))[:2]):,}"
        for who, spent in known.items()
    )
    table = Table(
        measure.key,
        "",
        (Column("budget", measure.axis), *(Column(who, who, numeric=True) for who in known)),
        tuple(rows),
    )
    return Figure(
        measure.key,
        f"Resolved within a budget: {measure.axis}",
        "A success that took more than the budget counts as a failure. Trials without a record "
        f"are left out, which may flatter: {counted}.",
        svg,
        table,
    )


def _front(
    study: Study, measure: Measure, known: dict[str, list[tuple[Record, float]]]
) -> Iterator[Block]:
    spent = {
        who: {task: [v for r, v in pairs if r.task == task] for task in {r.task for r, _ in pairs}}
        for who, pairs in known.items()
    }
    common = sorted(set.intersection(*(set(tasks) for tasks in spent.values())))
    if len(known) < 2 or len(common) < 2:
        return
    won = {
        who: np.array(
            [
                np.mean([r.verdict is Verdict.RESOLVED for r, _ in pairs if r.task == task])
                for task in common
            ]
        )
        for who, pairs in known.items()
    }
    costs = {who: np.array([np.mean(spent[who][task]) for task in common]) for who in known}
    try:
        front = pareto(won, costs)
    except NotEnoughData:
        return
    yield _front_figure(study, measure, front, len(common))


def _front_figure(study: Study, measure: Measure, front: Front, n_tasks: int) -> Figure:
    order = sorted(range(len(front.names)), key=lambda at: float(front.cost[at]))
    rates = {e.who: e.rate for e in study.summary.entries} if study.summary else {}
    points = []
    for at in order:
        rate = rates.get(front.names[at])
        half = rate.total.half_width if rate else 0.0
        value = float(front.score[at])
        points.append(
            {
                "name": front.names[at],
                "x": float(front.cost[at]),
                "y": value,
                "front": front.on_front[at],
                "low": max(0.0, value - half),
                "high": min(1.0, value + half),
            }
        )
    svg = charts.scatter(points, f"mean {measure.axis}", "resolved", "Score against cost")
    table = Table(
        f"front-{measure.key}",
        "",
        (
            Column("who", "Agent and model"),
            Column("cost", f"Mean {measure.key}", numeric=True),
            Column("share", "Resolved", numeric=True),
            Column("front", "On the front"),
            Column("chance", "How often so, over redrawn tasks", numeric=True),
        ),
        tuple(
            (
                who_cell(study, front.names[at]),
                Cell(float(front.cost[at]), measure.shown(float(front.cost[at]))),
                share_cell(float(front.score[at])),
                text("yes" if front.on_front[at] else "no"),
                share_cell(float(front.chance[at])),
            )
            for at in order
        ),
    )
    return Figure(
        f"front-{measure.key}",
        f"Score against {measure.key}",
        f"Coloured: nobody is both cheaper and better. Over the {n_tasks} tasks where all have a "
        "record; lines are the intervals for other tasks.",
        svg,
        table,
    )

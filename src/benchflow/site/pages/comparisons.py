"""Any two compared, paired by task: the difference, its interval, and task by task."""

from __future__ import annotations

from benchflow.base import numbers
from benchflow.report.comparison_sentence import sentence
from benchflow.site import charts
from benchflow.site.page_model import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Link,
    Page,
    Prose,
    Section,
    Table,
)
from benchflow.site.pages.common import OVERVIEW, Put, nothing, number, text, who_cell
from benchflow.site.study import MAX_COMPARED, Study, share
from benchflow.study.summary import Pair


def index(study: Study, put: Put) -> Page:
    """Every pair as a triangle: row minus column, in points."""
    lede = (
        "Row minus column, in percentage points, paired over the tasks that both tried. Coloured: "
        "a difference that the data supports after correction for all pairs. A cell leads on.",
    )
    blocks: tuple[Block, ...]
    if study.compared:
        blocks = (*_figure(study), _triangle(study))
    elif study.summary and len(study.summary.entries) > MAX_COMPARED:
        blocks = (
            nothing(
                f"There are more than {MAX_COMPARED} agents and models: use benchflow compare A B."
            ),
        )
    else:
        blocks = (nothing("There is no pair with two common tasks."),)
    return Page(
        path="comparisons.html",
        title="Comparisons",
        lede=lede,
        sections=(Section("pairs", "", blocks),),
        nav="comparisons.html",
    )


def _figure(study: Study) -> tuple[Block, ...]:
    shown = sorted(study.compared, key=lambda p: -abs(p.comparison.difference.value))[:20]
    rows = [_interval_row(pair) for pair in shown]
    table = Table(
        "differences",
        "",
        (
            Column("pair", "Pair"),
            Column("difference", "Points", numeric=True),
            Column("interval", "Interval"),
            Column("p", "p, corrected", numeric=True),
        ),
        tuple(
            (
                text(f"{p.a} − {p.b}", study.at.pair(p.a, p.b)),
                Cell(p.comparison.difference.value, numbers.points(p.comparison.difference.value)),
                _span(p),
                Cell(p.comparison.p_corrected, numbers.p_value(p.comparison.p_corrected)),
            )
            for p in shown
        ),
    )
    reading = (
        f"{100 * study.level:.0f} % intervals of each pair by itself; left of zero the second is "
        f"better. The {len(shown)} largest of {len(study.compared)}."
    )
    svg = charts.intervals(
        rows, "difference, percentage points", _domain(rows), "Differences between pairs"
    )
    return (Figure("differences", "Differences", reading, svg, table),)


def _interval_row(pair: Pair) -> dict[str, object]:
    difference = pair.comparison.difference
    return {
        "name": f"{pair.a} − {pair.b}",
        "value": 100 * difference.value,
        "low": 100 * difference.low,
        "high": 100 * difference.high,
        "inner_low": None,
        "inner_high": None,
    }


def _domain(rows: list[dict[str, object]]) -> list[float]:
    lows, highs = [float(str(r["low"])) for r in rows], [float(str(r["high"])) for r in rows]
    return [min(-5.0, *lows) - 1, max(5.0, *highs) + 1]


def _span(pair: Pair) -> Cell:
    difference = pair.comparison.difference
    shown = f"{numbers.points(difference.low)} to {numbers.points(difference.high)}"
    return Cell([difference.low, difference.high], shown)


def _triangle(study: Study) -> Table:
    assert study.summary is not None
    names = [entry.who for entry in study.summary.entries]
    by_names = {(pair.a, pair.b): pair for pair in study.compared}
    columns = (
        Column("who", "Minus"),
        *(Column(who, who, href=study.at.entry(who)) for who in names),
    )
    rows = []
    for a in names:
        cells: list[Cell] = [who_cell(study, a)]
        for b in names:
            pair, sign = by_names.get((a, b)), 1
            if pair is None:
                pair, sign = by_names.get((b, a)), -1
            if pair is None:
                cells.append(Cell(None, "", tone="none"))
                continue
            value = sign * pair.comparison.difference.value
            tone = ("up" if value > 0 else "down") if pair.comparison.decided else "h0"
            href = study.at.pair(pair.a, pair.b)
            cells.append(Cell(value, numbers.points(value), href=href, tone=tone))
        rows.append(tuple(cells))
    return Table("triangle", "All pairs", columns, tuple(rows), look="heat")


def make(study: Study, pair: Pair, put: Put) -> Page:
    """One pair."""
    comparison, need = pair.comparison, pair.need
    difference = comparison.difference
    facts = [
        ("Difference", Cell(difference.value, f"{numbers.points(difference.value)} points")),
        (f"{100 * study.level:.0f} % interval", _span(pair)),
        (
            "p, corrected for all pairs",
            Cell(comparison.p_corrected, numbers.p_value(comparison.p_corrected)),
        ),
        ("p, paired t test", Cell(comparison.p, numbers.p_value(comparison.p))),
        (
            "p, sign flips (no normality)",
            Cell(comparison.p_sign_flip, numbers.p_value(comparison.p_sign_flip)),
        ),
        (
            "Smallest difference such data sees",
            Cell(
                comparison.smallest_detectable, f"{100 * comparison.smallest_detectable:.1f} points"
            ),
        ),
        ("Common tasks", number(difference.n_tasks)),
        ("Trials", number(difference.n_trials)),
    ]
    if need is not None and need.tasks is not None:
        facts.append(("Tasks that would tell them apart", number(need.tasks)))
        attempts_ = "no number would" if need.attempts is None else numbers.count(need.attempts)
        facts.append(("Attempts a task that would", Cell(need.attempts, attempts_)))
    rows = [_interval_row(pair) | {"name": "first − second"}]  # the title names them in full
    chart = charts.intervals(rows, "difference, percentage points", _domain(rows), "The difference")
    table = Table(
        "difference",
        "",
        (
            Column("pair", "Pair"),
            Column("difference", "Points", numeric=True),
            Column("interval", "Interval"),
        ),
        ((text(f"{pair.a} − {pair.b}"), facts[0][1], facts[1][1]),),
    )
    reading = f"With its {100 * study.level:.0f} % interval over tasks. Zero is no difference."
    return Page(
        path=study.at.pair(pair.a, pair.b),
        title=f"{pair.a} and {pair.b}",
        crumbs=(OVERVIEW, Link("Comparisons", "comparisons.html")),
        kicker="Two compared",
        lede=(f"{sentence(pair)}.",),
        sections=(
            Section(
                "difference",
                "The difference",
                (
                    Figure("difference", "First minus second", reading, chart, table),
                    Facts(tuple(facts)),
                ),
            ),
            Section("tasks", "Task by task", (_tasks(study, pair), _note())),
        ),
        nav="comparisons.html",
    )


def _tasks(study: Study, pair: Pair) -> Table:
    rows = []
    for task in study.tasks:
        first, second = study.cells.get((pair.a, task)), study.cells.get((pair.b, task))
        if not first or not second:
            continue
        of_a, of_b = share(first), share(second)
        if of_a is None or of_b is None:
            continue
        rows.append(
            (
                text(task, study.at.task(task)),
                Cell(of_a - of_b, numbers.points(of_a - of_b)),
                study.tried[pair.a, task],
                study.tried[pair.b, task],
            )
        )
    rows.sort(key=lambda row: (-float(row[1].value), row[0].value))
    return Table(
        "tasks",
        "",
        (
            Column("task", "Task"),
            Column("difference", "Points", numeric=True),
            Column("a", pair.a),
            Column("b", pair.b),
        ),
        tuple(rows),
        tools=True,
    )


def _note() -> Prose:
    return Prose((("Each task weighs the same, however often it was tried.",),), "note")

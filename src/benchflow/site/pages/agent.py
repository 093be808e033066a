"""An agent and model: its rate with the three noises, repeated attempts, task by task."""

from __future__ import annotations

from collections import Counter

from benchflow.analysis.estimate import Estimate
from benchflow.base import numbers
from benchflow.results.model import Verdict
from benchflow.site import charts
from benchflow.site.page_model import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Inline,
    Page,
    Section,
    Table,
)
from benchflow.site.pages.common import (
    OVERVIEW,
    Put,
    half_cell,
    known_columns,
    median,
    nothing,
    number,
    seconds_cell,
    share_cell,
    text,
)
from benchflow.site.study import Study, counts, share
from benchflow.study.summary import Entry


def make(study: Study, who: str, put: Put) -> Page:
    """One agent and model."""
    entry = (
        next((e for e in study.summary.entries if e.who == who), None) if study.summary else None
    )
    return Page(
        path=study.at.entry(who),
        title=who,
        crumbs=(OVERVIEW,),
        kicker="Agent and model",
        lede=_lede(study, who, entry),
        sections=tuple(
            section
            for section in (
                Section("rate", "", _headline(study, who, entry)),
                Section("noise", "Where the uncertainty comes from", _noise(entry)),
                Section("attempts", "What repeated attempts bring", _repeated(study, entry)),
                Section("tasks", "Task by task", (_tasks(study, who),)),
                Section("endings", "How its trials ended", _endings(study, who)),
            )
            if section.blocks
        ),
        nav="index.html",
    )


def _lede(study: Study, who: str, entry: Entry | None) -> tuple[Inline, ...]:
    if entry is None:
        return ("Every trial was an infrastructure error, so nothing is known of it.",)
    n_tasks = numbers.plural(len(entry.outcomes.tasks), "task")
    of = f"{numbers.plural(entry.outcomes.n_trials, 'trial')} over {n_tasks}"
    said = f"Resolved {numbers.percent(entry.share, 2)} of {of}"
    if entry.tier is not None and study.summary is not None:
        same = [e.who for e in study.summary.entries if e.tier == entry.tier and e.who != who]
        alone = (
            "alone" if not same else "with " + ", ".join(same[:4]) + (" …" if len(same) > 4 else "")
        )
        return (f"{said}. It stands in tier {entry.tier}, {alone}.",)
    return (f"{said}.",)


def _headline(study: Study, who: str, entry: Entry | None) -> tuple[Block, ...]:
    if entry is None:
        return ()
    rate, records = entry.rate, study.of_entry(who)
    half = rate.plus_minus if rate else None
    time = median(r.phases.agent for r in records)
    return (
        Facts(
            (
                ("Resolved", share_cell(entry.share)),
                ("± other tasks", half_cell(half.total if half else None)),
                ("± re-runs only", half_cell(half.rerun if half else None)),
                ("Errors", number(entry.outcomes.errors)),
                *((("Median time", seconds_cell(time)),) if time is not None else ()),
            ),
            "headline",
        ),
    )


def _noise(entry: Entry | None) -> tuple[Block, ...]:
    if entry is None or entry.rate is None:
        return ()
    noise = entry.rate.noise
    if entry.rate.parts_unknown:
        return (
            nothing(
                f"The standard error is {numbers.plus_minus(noise.total)} points. How much of it "
                f"is due to re-runs of the same tasks is unknown: {entry.rate.parts_unknown}."
            ),
        )
    rows = (
        ("re-runs", "the same tasks run again", noise.rerun),
        ("tasks", "other tasks of the same kind, each run without end", noise.tasks),
        ("both together", "other tasks, run as often as these", noise.total),
    )
    return (
        Table(
            "noise",
            "Standard errors, in points; the squares of the first two add up to the third's.",
            (
                Column("noise", "Noise"),
                Column("means", "If one drew"),
                Column("error", "Standard error", numeric=True),
            ),
            tuple((text(a), text(b), Cell(c, numbers.plus_minus(c))) for a, b, c in rows),
        ),
    )


def _repeated(study: Study, entry: Entry | None) -> tuple[Block, ...]:
    if entry is None:
        return ()
    both = study.attempts.get(entry.who)
    if both is None or len(both.any_of) < 2:
        return ()
    found = [(k, a, b) for k, (a, b) in enumerate(zip(both.any_of, both.all_of, strict=True), 1)]
    names = ["any of k resolves (pass@k)", "all of k resolve (pass^k)"]
    rows = [
        {"k": k, "name": name, "value": e.value, "low": e.low, "high": e.high}
        for k, one, other in found
        for name, e in zip(names, (one, other), strict=True)
    ]
    svg = charts.lines(
        rows,
        {"field": "k", "type": "ordinal", "axis": {"title": "attempts k", "labelAngle": 0}},
        {
            "field": "value",
            "type": "quantitative",
            "axis": {"format": "%", "title": None, "tickCount": 5},
            "scale": {"domain": [0, 1]},
        },
        names,
        "Resolved within k attempts",
    )
    table = Table(
        "passk",
        "",
        (
            Column("k", "Attempts", numeric=True),
            Column("any", "Any resolves", numeric=True),
            Column("any_interval", "Interval"),
            Column("all", "All resolve", numeric=True),
            Column("all_interval", "Interval"),
            Column("tasks", "Tasks", numeric=True),
        ),
        tuple(
            (
                number(k),
                share_cell(a.value),
                _interval(a),
                share_cell(b.value),
                _interval(b),
                number(a.n_tasks),
            )
            for k, a, b in found
        ),
    )
    reading = (
        "Luck and reliability: the gap between the two is how much a single attempt leaves to "
        f"chance. Bands: {100 * study.level:.0f} % over tasks."
    )
    return (Figure("passk", "Any of k attempts, and all of them", reading, svg, table),)


def _interval(estimate: Estimate) -> Cell:
    return Cell(
        [estimate.low, estimate.high],
        f"{numbers.percent(estimate.low)} to {numbers.percent(estimate.high)}",
    )


def _tasks(study: Study, who: str) -> Table:
    rows = []
    for task in study.tasks:
        cell = study.cells.get((who, task))
        if not cell:
            continue
        resolved, failed, _ = counts(cell)
        everyone = share(study.of_task(task))
        rows.append(
            (
                text(task, study.at.task(task)),
                Cell(share(cell), f"{resolved} / {resolved + failed}"),
                share_cell(everyone),
                study.tried[who, task],
                seconds_cell(median(r.phases.agent for r in cell)),
            )
        )
    rows.sort(key=lambda row: (-(row[1].value if row[1].value is not None else -1), row[0].value))
    table = Table(
        "tasks",
        "",
        (
            Column("task", "Task"),
            Column("share", "Resolved", numeric=True),
            Column("everyone", "By everyone", numeric=True),
            Column("trials", "Trials"),
            Column("seconds", "Median time", numeric=True),
        ),
        tuple(rows),
        tools=True,
    )
    return known_columns(table)


def _endings(study: Study, who: str) -> tuple[Block, ...]:
    found = Counter(
        (record.verdict, record.cause or record.failure_mode) for record in study.of_entry(who)
    )
    over = [r for r in study.of_entry(who) if r.said_done and r.verdict is Verdict.FAILED]
    table = Table(
        "endings",
        "",
        (
            Column("verdict", "Verdict"),
            Column("cause", "Cause, or what ended the agent"),
            Column("trials", "Trials", numeric=True),
        ),
        tuple(
            (text(v.value, tone=v.value), text(cause), number(n))
            for (v, cause), n in found.most_common()
        ),
    )
    if not over:
        return (table,)
    said = f"{numbers.plural(len(over), 'trial')} said to be done that the verifier failed."
    return (table, nothing(said))

"""How far each gets: milestones passed, who climbs better, and each milestone of each task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from benchflow.analysis.ladder import MilestoneModel
from benchflow.base import numbers
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.site import charts
from benchflow.site.page_model import Block, Cell, Column, Figure, Page, Section, Span, Table
from benchflow.site.pages.common import Put, heat, interval_cell, nothing, number, text, who_cell
from benchflow.site.study import Study
from benchflow.study.ladder_stats import Milestones, milestones, steps
from benchflow.study.ladder_stats import Step as Climbed
from benchflow.study.statistics import Refused

_MOST_CLIMBS = 12


def make(study: Study, put: Put) -> Page:
    """Milestones passed over all tasks, then task by task."""
    found = milestones(study.trials, study.level)
    if isinstance(found, Refused):
        sections = [Section("none", "", (nothing(f"Nothing to show: {found.refused}."),))]
        noun = "milestones"
    else:
        noun = f"{found.kind}s"
        sections = [
            Section("far", "Over all tasks", (_overall(study, found, noun),)),
            Section("climb", "Who climbs better", tuple(_climb(study, found))),
            Section("climbs", "Milestone by milestone", tuple(_climbs(study))),
            Section("tasks", "Every task", (_by_task(study),)),
        ]
    return Page(
        path="ladders.html",
        title="How far each gets",
        lede=(
            f"Not only whether a trial resolved its task, but how many of its {noun} it passed.",
        ),
        sections=tuple(section for section in sections if section.blocks),
        nav="ladders.html",
    )


def _overall(study: Study, found: Milestones, noun: str) -> Figure:
    order = sorted(found.share, key=lambda who: (-found.share[who].value, who))
    points, rows = [], []
    for who in order:
        one = found.share[who]
        points.append(
            {
                "name": who,
                "value": 100 * one.value,
                "low": 100 * one.low,
                "high": 100 * one.high,
                "inner_low": None,
                "inner_high": None,
            }
        )
        span = Span(one.value, (one.low, one.high))
        rows.append(
            (
                who_cell(study, who),
                Cell(one.value, numbers.percent(one.value), span=span),
                interval_cell(one.low, one.high),
                number(one.n_tasks),
                number(one.n_trials),
                number(one.n_errors),
            )
        )
    columns = (
        Column("who", "Agent and model"),
        Column("share", f"Of the {noun}", numeric=True),
        Column("interval", "Interval"),
        Column("tasks", "Tasks", numeric=True),
        Column("trials", "Trials", numeric=True),
        Column("errors", "Errors", numeric=True),
    )
    svg = ""
    if points:
        svg = charts.intervals(points, f"{noun} passed, %", [0, 100], f"{noun} passed")
    return Figure(
        "milestones",
        f"Mean share of {noun} passed",
        f"Each trial weighs the same; {100 * study.level:.0f} % intervals for other tasks.",
        svg,
        Table("milestones", "", columns, tuple(rows)),
    )


def _climb(study: Study, found: Milestones) -> Iterator[Block]:
    if isinstance(found.climb, Refused):
        if found.kind == "milestone" and len(study.entries) > 1:
            yield nothing(f"Who climbs better cannot be told: {found.climb.refused}.")
        return
    yield _effects(study, found.climb)


def _effects(study: Study, model: MilestoneModel) -> Figure:
    order = sorted(range(len(model.groups)), key=lambda at: -float(model.effect[at]))
    points, rows = [], []
    for at in order:
        value, low, high = (float(a[at]) for a in (model.effect, model.low, model.high))
        points.append(
            {
                "name": model.groups[at],
                "value": value,
                "low": low,
                "high": high,
                "inner_low": None,
                "inner_high": None,
            }
        )
        rows.append(
            (
                who_cell(study, model.groups[at]),
                Cell(value, numbers.signed(value, 2)),
                Cell([low, high], f"{numbers.signed(low, 2)} to {numbers.signed(high, 2)}"),
            )
        )
    low, high = min(-1.0, *model.low.tolist()), max(1.0, *model.high.tolist())
    columns = (
        Column("who", "Agent and model"),
        Column("effect", "Logits", numeric=True),
        Column("interval", "Interval"),
    )
    return Figure(
        "climb",
        "Chance of the next milestone, once a milestone is reached",
        "Log-odds against the mean of all, over all milestones at once (sequential logit); 0 is "
        "the mean, +1 multiplies the odds by 2.7.",
        charts.intervals(
            points, "logits against the mean", [low, high], "Effect on each milestone"
        ),
        Table("climb", "", columns, tuple(rows)),
    )


def _climbs(study: Study) -> Iterator[Block]:
    """Each milestone of each task: of the trials that reached it, how many passed."""
    by_task: dict[str, list[Climbed]] = defaultdict(list)
    for step in steps(study.trials, study.level):
        by_task[step.task].append(step)
    for task, climbed in sorted(by_task.items())[:_MOST_CLIMBS]:
        yield _ladder(study, task, climbed)
    if len(by_task) > _MOST_CLIMBS:
        yield nothing(f"The first {_MOST_CLIMBS} of {len(by_task)}; each task's page has its own.")


def _ladder(study: Study, task: str, climbed: list[Climbed]) -> Table:
    entries = [who for who in study.entries if any(who in step.by_entry for step in climbed)]
    rows = []
    for step in climbed:
        value = step.passed / step.reached if step.reached else None
        span = Span(value, (step.low, step.high)) if value is not None else None
        cells = [
            Cell(step.milestone, step.title or step.milestone, note=step.milestone),
            number(step.reached),
            Cell(value, numbers.percent(value, 0), span=span),
        ]
        for who in entries:
            passed, reached = step.by_entry.get(who, (0, 0))
            tone = heat(passed / reached) if reached else "none"
            shown = f"{passed}/{reached}" if reached else ""
            cells.append(Cell([passed, reached], shown, tone=tone))
        rows.append(tuple(cells))
    columns = (
        Column("milestone", "Milestone"),
        Column("reached", "Reached", numeric=True),
        Column("chance", "Passed, once reached", numeric=True),
        *(Column(who, who) for who in entries),
    )
    caption = (
        f"{task}: passed of those that reached it; intervals for runs again on this very task."
    )
    key = "climb-" + "".join(c if c.isalnum() else "-" for c in task)
    return Table(key, caption, columns, tuple(rows), look="heat")


def _by_task(study: Study) -> Table:
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in study.records:
        if _counts(record):
            cells[record.task, record.who].append(record.n_passed / len(record.milestones))
    tasks = sorted({task for task, _ in cells})
    entries = [who for who in study.entries if any((task, who) in cells for task in tasks)]
    rows = []
    for task in tasks:
        row = [text(task, study.at.task(task))]
        for who in entries:
            shares = cells.get((task, who))
            if not shares:
                row.append(Cell(None, "", tone="none"))
                continue
            value = sum(shares) / len(shares)
            href = study.at.cell(who, task)
            row.append(Cell(value, numbers.percent(value, 0), href=href, tone=heat(value)))
        rows.append(tuple(row))
    columns = (
        Column("task", "Task"),
        *(Column(who, who, href=study.at.entry(who)) for who in entries),
    )
    caption = "Mean share of milestones passed, over the trials that have a result."
    return Table("every", caption, columns, tuple(rows), look="heat", tools=True)


def _counts(record: Record) -> bool:
    return bool(record.milestones) and record.verdict is not Verdict.ERROR

"""What experts say of the tasks: hours, difficulty, agreement, doubts; where attempts disagree."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.analysis.bradley_terry import Strengths
from benchflow.base import numbers
from benchflow.people.said import Said, SaidOfTask, disagreements
from benchflow.people.said_words import PAY_SHORT, SIGN_SHORT, counted, hours_words
from benchflow.site import charts
from benchflow.site.page_model import Block, Cell, Column, Figure, Page, Prose, Section, Table
from benchflow.site.pages.common import OVERVIEW, Put, nothing, number, text
from benchflow.site.study import Study
from benchflow.study.statistics import Refused

_MOST_WORDS = 5
_WORDS = 400


def make(study: Study, found: Said, put: Put) -> Page:
    """All that is said."""
    of_them = f"{found.n_experts} of them say that such work is theirs"
    named = f" With thanks to {', '.join(found.names)}." if found.names else ""
    return Page(
        path="experts.html",
        title="What experts say",
        crumbs=(OVERVIEW,),
        lede=(
            f"{numbers.plural(found.n_raters, 'person has', 'people have')} rated tasks after "
            f"reading what is asked and what is proved; {of_them}, and only their answers are in "
            f"these figures.{named}",
        ),
        sections=tuple(
            section
            for section in (
                Section("tasks", "Task by task", (_tasks(study, found),)),
                Section("hours", "How many hours", tuple(_hours(study, found))),
                Section("harder", "Which is harder", tuple(_harder(study, found))),
                Section("doubted", "Most often called unfair or unclear", tuple(_doubted(found))),
                Section("apart", "Where attempts disagree", tuple(_apart(study, found))),
                Section("agreement", "How far they agree", tuple(_agreement(found))),
            )
            if section.blocks
        ),
        nav="experts.html",
    )


def _task_cell(study: Study, name: str) -> Cell:
    for task in study.tasks:
        one = study.said_of(task)
        if one is not None and one.task == name:
            return text(name, study.at.task(task))
    return text(name)


def _tasks(study: Study, found: Said) -> Table:
    rows = tuple(
        (
            _task_cell(study, task.task),
            number(task.n_experts),
            _hours_cell(found, task),
            text(counted(SIGN_SHORT, task.sign)),
            text(counted(PAY_SHORT, task.pay)),
            Cell(
                task.harder_in,
                f"{task.harder_in} of {task.compared}" if task.compared else numbers.MISSING,
            ),
            number(task.n_others),
        )
        for task in found.tasks
    )
    columns = (
        Column("task", "Task"),
        Column("experts", "Experts", numeric=True),
        Column("hours", "Hours", numeric=True),
        Column("sign", "Would sign a passing verdict", prose=True),
        Column("pay", "Would pay for it", prose=True),
        Column("harder", "Harder in", numeric=True),
        Column("others", "Others", numeric=True),
    )
    caption = (
        "Hours: geometric mean of what experts hold likely. Harder in: comparisons with another "
        "task that it won as the harder one. Others: raters who do not do such work, in no figure."
    )
    return Table("experts", caption, columns, rows)


def _hours_cell(found: Said, task: SaidOfTask) -> Cell:
    hours = found.hours_of(task.task)
    if hours is None:
        return Cell(None, numbers.MISSING, note=hours_words(found, task))
    return Cell(hours[0], f"{hours[0]:.3g}")


def _hours(study: Study, found: Said) -> Iterator[Block]:
    if isinstance(found.hours, Refused):
        yield nothing(f"Hours cannot be told: {found.hours.refused}.")
        return
    hours = found.hours
    rows = []
    for at, name in enumerate(hours.tasks):
        task = next(one for one in found.tasks if one.task == name)
        measured = study.measured.get(name)
        stated = measured.stated_hours if measured else 0.0
        low, high = float(hours.low[at]), float(hours.high[at])
        rows.append(
            (
                _task_cell(study, name),
                Cell(float(hours.hours[at]), f"{hours.hours[at]:.3g}"),
                Cell([low, high], f"{low:.3g} to {high:.3g}"),
                Cell(
                    task.own_range,
                    f"{task.own_range[0]:.3g} to {task.own_range[1]:.3g}"
                    if task.own_range
                    else numbers.MISSING,
                ),
                Cell(stated or None, f"{stated:.3g}" if stated else numbers.MISSING),
                number(int(hours.n_raters[at])),
            )
        )
    columns = (
        Column("task", "Task"),
        Column("hours", "Hours", numeric=True),
        Column("interval", f"{100 * hours.level:.0f} % interval"),
        Column("own", "Their own ranges"),
        Column("stated", "Its author states", numeric=True),
        Column("raters", "Experts", numeric=True),
    )
    caption = (
        f"Interval: for the mean of all who could rate, each rater's own leaning allowed for "
        f"(raters differ by a factor of {hours.rater_factor:.2g}, what is left by "
        f"{hours.rest_factor:.2g}). Their own ranges: geometric means of low and high, for one "
        "person."
    )
    yield Table("hours", caption, columns, tuple(rows))


def _harder(study: Study, found: Said) -> Iterator[Block]:
    if isinstance(found.harder, Refused):
        yield nothing(f"One scale of difficulty cannot be told: {found.harder.refused}.")
        return
    scale = found.harder
    order = sorted(range(len(scale.names)), key=lambda at: -scale.strength[at])
    values = [
        (scale.names[at], float(scale.strength[at]), float(scale.low[at]), float(scale.high[at]))
        for at in order
    ]
    rows = tuple(
        (
            _task_cell(study, name),
            Cell(value, numbers.signed(value)),
            Cell([low, high], f"{numbers.signed(low)} to {numbers.signed(high)}"),
        )
        for name, value, low, high in values
    )
    columns = (
        Column("task", "Task"),
        Column("difficulty", "Difficulty", numeric=True),
        Column("interval", f"{100 * scale.level:.0f} % interval"),
    )
    table = Table("difficulty", "", columns, rows)
    yield _figure(scale, values, table)


def _figure(
    scale: Strengths, values: list[tuple[str, float, float, float]], table: Table
) -> Figure:
    reading = (
        "Log-odds that a task is called the harder one, Bradley–Terry, 0 the mean of these tasks; "
        f"{numbers.plural(scale.n_votes, 'comparison')} by "
        f"{numbers.plural(scale.n_voters, 'expert')}, errors clustered by rater."
    )
    rows = [
        {"name": name, "value": value, "low": low, "high": high, "inner_low": None,
         "inner_high": None}
        for name, value, low, high in values
    ]  # fmt: skip
    ends = [end for _, _, low, high in values for end in (low, high)]
    svg = charts.intervals(rows, "difficulty (log-odds)", [min(ends), max(ends)], reading)
    return Figure("difficulty", "How hard experts find the tasks", reading, svg, table)


def _doubted(found: Said) -> Iterator[Block]:
    if not found.unfair:
        yield nothing("No demand is doubted by two or more of three or more experts of its task.")
        return
    rows = tuple(
        (
            text(doubt.task),
            text(f"{doubt.demand}: {doubt.text}"),
            number(doubt.n_unfair),
            number(doubt.n_unclear),
            number(doubt.n_experts),
        )
        for doubt in found.unfair
    )
    columns = (
        Column("task", "Task"),
        Column("demand", "Demand", prose=True),
        Column("unfair", "Unfair", numeric=True),
        Column("unclear", "Unclear", numeric=True),
        Column("experts", "Of experts", numeric=True),
    )
    yield Table("doubted", "", columns, rows)
    words = tuple(
        (f"{doubt.task}, {doubt.demand}: “{said[:_WORDS]}”",)
        for doubt in found.unfair
        for said in doubt.words[:_MOST_WORDS]
    )
    if words:
        yield Prose(words, look="list")


def _apart(study: Study, found: Said) -> Iterator[Block]:
    apart = disagreements(found, study.measured)
    if not apart:
        yield nothing(
            "Nowhere: as far as both are told, experts and attempts agree, and so do experts and "
            "the hours that authors state."
        )
        return
    rows = tuple(
        (_task_cell(study, one.task), text(one.what), text("shown" if one.shown else "open"))
        for one in apart
    )
    columns = (
        Column("task", "Task"),
        Column("what", "What", prose=True),
        Column("shown", "Beyond chance"),
    )
    yield Table("apart", "", columns, rows)


def _agreement(found: Said) -> Iterator[Block]:
    rows = []
    for what, one in found.agreement.items():
        if isinstance(one, Refused):
            rows.append((text(what), Cell(None, numbers.MISSING), text(one.refused)))
        else:
            interval = f"{one.low:.2f} to {one.high:.2f}"
            rows.append((text(what), Cell(one.alpha, f"{one.alpha:.2f}"), text(interval)))
    columns = (
        Column("question", "Question"),
        Column("alpha", "α", numeric=True),
        Column("interval", "Interval, or why there is none", prose=True),
    )
    caption = "Krippendorff's α over raters and tasks: 1 is full agreement, 0 what chance brings."
    yield Table("agreement", caption, columns, tuple(rows))

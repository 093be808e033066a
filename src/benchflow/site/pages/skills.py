"""Who is good at what: skills, agent against model, and behaviour at equal difficulty."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchflow.analysis.skills import SkillEffects
from benchflow.analysis.within import Effects
from benchflow.base import numbers
from benchflow.site.page_model import Block, Cell, Column, Page, Section, Table
from benchflow.site.pages.common import (
    Put,
    by_reason,
    heat,
    nothing,
    number,
    seconds_cell,
    share_cell,
    text,
    who_cell,
)
from benchflow.site.study import Study, share
from benchflow.study.statistics import (
    AgentOrModel,
    Refused,
    agent_or_model,
    behaviours,
    horizons,
    skills,
)


def make(study: Study, put: Put) -> Page:
    """Four questions to the same trials."""
    return Page(
        path="skills.html",
        title="Who is good at what",
        lede=(
            "How much better or worse each does on the tasks of a skill than its own general level "
            "and the tasks' difficulty lead one to expect; whether it is the agent or the model; "
            "how long a task each can carry; and how each goes about it.",
        ),
        sections=(
            Section("effects", "By skill", tuple(_skills(study))),
            Section("parts", "Agent or model", tuple(_parts(study))),
            Section("horizon", "How long a task each can carry", tuple(_horizons(study))),
            Section("behaviour", "Behaviour at equal difficulty", tuple(_behaviour(study))),
        ),
        nav="skills.html",
    )


def _skills(study: Study) -> Iterator[Block]:
    found = skills(study.trials, study.level)
    if isinstance(found, Refused):
        yield nothing(f"No effects can be told: {found.refused}.")
    else:
        yield _effects(study, found)
    skills_of = {task: study.of_task(task)[0].skills for task in study.tasks}
    if any(skills_of.values()):
        yield _plain(study, skills_of)


def _effects(study: Study, found: SkillEffects) -> Table:
    decided = found.decided()
    rows = []
    for row, who in enumerate(found.models):
        cells = [who_cell(study, who)]
        for column in range(len(found.skills)):
            value = float(found.effect[row, column])
            if np.isnan(value):
                cells.append(Cell(None, "", tone="none"))
                continue
            low, high = float(found.low[row, column]), float(found.high[row, column])
            tone = ("up" if value > 0 else "down") if decided[row, column] else "none"
            note = f"{numbers.points(low)} to {numbers.points(high)} points"
            cells.append(Cell(value, numbers.points(value), tone=tone, note=note))
        rows.append(tuple(cells))
    columns = (
        Column("who", "Agent and model"),
        *(
            Column(skill, f"{skill} ({numbers.plural(n, 'task')})")
            for skill, n in zip(found.skills, found.n_tasks, strict=True)
        ),
    )
    caption = (
        "Percentage points, partially pooled. Coloured: the interval leaves zero out. "
        "Grey: undecided."
    )
    if study.trials.in_generators:
        caption += (
            " Tasks are taken as independent, though some share a generator: too narrow, then."
        )
    return Table("effects", caption, columns, tuple(rows), look="heat")


def _plain(study: Study, skills_of: dict[str, tuple[str, ...]]) -> Table:
    rows = []
    for skill in sorted({skill for names in skills_of.values() for skill in names}):
        tasks = [task for task in study.tasks if skill in skills_of[task]]
        cells = [text(skill), number(len(tasks))]
        for who in study.ranked:
            value = share(r for task in tasks for r in study.cells.get((who, task), ()))
            shown = share_cell(value)
            cells.append(Cell(shown.value, shown.text, tone=heat(value)))
        rows.append(tuple(cells))
    columns = (
        Column("skill", "Skill"),
        Column("tasks", "Tasks", numeric=True),
        *(Column(who, who, href=study.at.entry(who)) for who in study.ranked),
    )
    return Table("plain", "Plain shares resolved, by skill.", columns, tuple(rows), look="heat")


def _parts(study: Study) -> Iterator[Block]:
    found = agent_or_model(study.trials, study.level)
    yield _cells(found)
    for shown, *others in found.merged:
        yield nothing(f"Taken as one model: {shown}, spelled {', '.join(others)}.")
    if isinstance(found.effects, Refused):
        yield nothing(f"Agents and models cannot be told apart: {found.effects.refused}.")
        return
    for title, effects in (("agents", found.effects.agents), ("models", found.effects.models)):
        if effects is not None:
            yield _differences(title, effects)
    additivity = found.effects.additivity
    if additivity is None:
        yield nothing("That effects of agents and models add up is assumed: no cell can check it.")
    else:
        yield nothing(
            f"Do they add up? F({additivity.freedom}, {additivity.within}) = {additivity.f:.2f}, "
            f"{numbers.p_value(additivity.p)}."
        )


def _cells(found: AgentOrModel) -> Table:
    cells = found.cells
    rows = tuple(
        (
            text(agent),
            *(
                Cell(int(n), f"{int(n):,}" if n else "", tone="h3" if n else "none")
                for n in cells.n_trials[row]
            ),
        )
        for row, agent in enumerate(cells.agents)
    )
    columns = (Column("agent", "Agent"), *(Column(model, model) for model in cells.models))
    return Table("cells", "Which cells were run: trials that count.", columns, rows, look="heat")


def _differences(title: str, effects: Effects) -> Table:
    rows = tuple(
        (
            text(name),
            Cell(float(effects.effect[at]), numbers.points(float(effects.effect[at]))),
            Cell(
                [float(effects.low[at]), float(effects.high[at])],
                f"{numbers.points(float(effects.low[at]))} to "
                f"{numbers.points(float(effects.high[at]))}",
            ),
            Cell(float(effects.p_corrected[at]), numbers.p_value(float(effects.p_corrected[at]))),
        )
        for at, name in enumerate(effects.names)
    )
    columns = (
        Column("pair", f"Between {title}"),
        Column("difference", "Points", numeric=True),
        Column("interval", "Interval"),
        Column("p", "p, corrected", numeric=True),
    )
    return Table(title, "", columns, rows)


def _horizons(study: Study) -> Iterator[Block]:
    found = horizons(study.trials, study.level)
    if isinstance(found, Refused):
        yield nothing(f"No horizon can be told: {found.refused}.")
        return
    rows = tuple(
        (
            who_cell(study, who),
            seconds_cell(60 * one.value),
            Cell(
                [60 * one.low, 60 * one.high],
                f"{numbers.duration(60 * one.low)} to {numbers.duration(60 * one.high)}",
            ),
            number(one.n_tasks),
        )
        for who, horizon in found.items()
        if (one := horizon.estimate) is not None
    )
    if rows:
        columns = (
            Column("who", "Agent and model"),
            Column("horizon", "An expert's time for it", numeric=True),
            Column("interval", "Interval"),
            Column("tasks", "Tasks", numeric=True),
        )
        caption = (
            "The length of a task that each resolves half the time, by the expert minutes that "
            "the tasks state (logistic in their logarithm, Fieller's interval)."
        )
        yield Table("horizon", caption, columns, rows)
    refused = {who: one.refused for who, one in found.items() if one.estimate is None}
    for why, names in by_reason(refused):
        yield nothing(f"No horizon for {names}: {why}.")


def _behaviour(study: Study) -> Iterator[Block]:
    found = behaviours(study.trials, study.level)
    rows, silent = [], []
    for measure, one in found.found.items():
        if isinstance(one, Refused):
            silent.append(f"{measure}: {one.refused}")
            continue
        effects = one.effects
        for at, who in enumerate(effects.names):
            value, low, high = (float(a[at]) for a in (effects.effect, effects.low, effects.high))
            shown = _factor if one.ratio else _difference
            rows.append(
                (
                    text(measure),
                    who_cell(study, who),
                    Cell(value, shown(value)),
                    _bounds(low, high, shown),
                    Cell(effects.decided()[at], "yes" if effects.decided()[at] else "open"),
                )
            )
    if rows:
        columns = (
            Column("measure", "Measure"),
            Column("who", "Agent and model"),
            Column("effect", "Against the mean", numeric=True),
            Column("interval", "Interval"),
            Column("decided", "Differs"),
        )
        caption = (
            "On the same tasks, against the mean of all: amounts as a factor (1× is the mean), "
            "shares as a difference."
        )
        yield Table("behaviour", caption, columns, tuple(rows))
    if silent:
        yield nothing("Not told: " + "; ".join(silent) + ".")


def _bounds(low: float, high: float, shown: Callable[[float], str]) -> Cell:
    if np.isnan(low) or np.isnan(high):
        return Cell(None, "unknown: too few tasks in common")
    return Cell([low, high], f"{shown(low)} to {shown(high)}")


def _factor(value: float) -> str:
    return f"{value:.2f}×"


def _difference(value: float) -> str:
    return numbers.signed(value, 2)

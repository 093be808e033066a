"""Who is good at what: model by skill effects, pulled together as far as the data asks for."""

from __future__ import annotations

import numpy as np

from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.skills import SkillEffects, skill_effects
from benchflow.site import words
from benchflow.site.content import Block, Cell, Column, Page, Section, Table
from benchflow.site.pages.common import Put, heat, nothing, number, share_cell, text, who_cell
from benchflow.site.study import Study, share


def make(study: Study, put: Put) -> Page:
    """The skills of the tasks, by agent and model."""
    skills_of = {task: next(iter(study.of_task(task))).skills for task in study.tasks}
    has_skills = any(skills_of.values())
    blocks: tuple[Block, ...]
    if not has_skills:
        blocks = (
            nothing("The tasks of these sources carry no skills, so there is nothing to tell."),
        )
    else:
        blocks = (*_effects(study, skills_of), _plain(study, skills_of))
    return Page(
        path="skills.html",
        title="Skills",
        lede=(
            "How much better or worse each does on the tasks of a skill than its own general level "
            "and the tasks' difficulty lead one to expect.",
        ),
        sections=(Section("effects", "", blocks),),
        nav="skills.html",
    )


def _effects(study: Study, skills_of: dict[str, tuple[str, ...]]) -> tuple[Block, ...]:
    entries = [e.who for e in study.summary.entries] if study.summary else []
    common = [
        task
        for task in study.tasks
        if all(share(study.cells.get((who, task), ())) is not None for who in entries)
    ]
    shares = {
        who: np.array([share(study.cells[who, task]) for task in common], dtype=float)
        for who in entries
    }
    try:
        found = skill_effects(shares, [skills_of[task] for task in common], study.level)
    except NotEnoughData as error:
        return (nothing(f"No effects can be estimated: {error}."),)
    return (_table(study, found),)


def _table(study: Study, found: SkillEffects) -> Table:
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
            note = f"{words.points(low)} to {words.points(high)} points"
            cells.append(Cell(value, words.points(value), tone=tone, note=note))
        rows.append(tuple(cells))
    columns = (
        Column("who", "Agent and model"),
        *(
            Column(skill, f"{skill} ({n} {'task' if n == 1 else 'tasks'})")
            for skill, n in zip(found.skills, found.n_tasks, strict=True)
        ),
    )
    caption = (
        "Percentage points, partially pooled. Coloured: the interval leaves zero out. "
        "Grey: undecided."
    )
    return Table("effects", caption, columns, tuple(rows), look="heat")


def _plain(study: Study, skills_of: dict[str, tuple[str, ...]]) -> Table:
    names = sorted({skill for skills in skills_of.values() for skill in skills})
    rows = []
    for skill in names:
        tasks = [task for task in study.tasks if skill in skills_of[task]]
        cells = [text(skill), number(len(tasks))]
        for who in study.entries:
            value = share(r for task in tasks for r in study.cells.get((who, task), ()))
            shown = share_cell(value)
            cells.append(Cell(shown.value, shown.text, tone=heat(value)))
        rows.append(tuple(cells))
    columns = (
        Column("skill", "Skill"),
        Column("tasks", "Tasks", numeric=True),
        *(Column(who, who, href=study.entry_page(who)) for who in study.entries),
    )
    return Table("plain", "Plain shares resolved, by skill.", columns, tuple(rows), look="heat")

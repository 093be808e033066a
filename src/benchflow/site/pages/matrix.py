"""The matrix: every task by every agent and model."""

from __future__ import annotations

from benchflow.base import numbers
from benchflow.site.page_model import Cell, Column, Page, Prose, Section, Table
from benchflow.site.pages.common import Put, heat, share_cell, text
from benchflow.site.study import Study, counts, share


def make(study: Study, put: Put) -> Page:
    """Rows are tasks, the most often resolved first; columns are entries, best first."""
    order = sorted(study.tasks, key=lambda task: (-(share(study.of_task(task)) or 0), task))
    columns = (
        Column("task", "Task"),
        *(Column(who, who, href=study.at.entry(who)) for who in study.entries),
        Column("all", "All", numeric=True),
    )
    table = Table(
        "matrix", "", columns, tuple(_row(study, task) for task in order), look="heat", tools=True
    )
    return Page(
        path="matrix.html",
        title="The matrix",
        lede=(
            "Every task by every agent and model: resolved out of those that count. The deeper the "
            "colour, the larger the share. A cell leads to its trials.",
        ),
        sections=(
            Section("matrix", "", (table,)),
            Section("reading", "How to read it", (Prose((_reading(study),)),)),
        ),
        nav="matrix.html",
    )


def _row(study: Study, task: str) -> tuple[Cell, ...]:
    return (
        text(task, study.at.task(task)),
        *(cell(study, who, task) for who in study.entries),
        share_cell(share(study.of_task(task))),
    )


def cell(study: Study, who: str, task: str) -> Cell:
    """Resolved out of those that count; a hatched cell has errors alone, an empty one no trial."""
    records = study.cells.get((who, task), [])
    resolved, failed, errors = counts(records)
    if not records:
        return Cell(None, "", tone="none", note=f"{who} was not run on {task}")
    note = f"{resolved} of {resolved + failed} resolved"
    note += f", {numbers.plural(errors, 'error')}" if errors else ""
    href = study.at.cell(who, task)
    if resolved + failed == 0:
        return Cell(None, "error", href=href, tone="error", note=note)
    value = resolved / (resolved + failed)
    mark = "*" if errors else ""
    return Cell(value, f"{resolved}/{resolved + failed}{mark}", href, heat(value), note=note)


def _reading(study: Study) -> tuple[str, ...]:
    run = sum(1 for who in study.entries for task in study.tasks if (who, task) in study.cells)
    cells = len(study.entries) * len(study.tasks)
    return (
        f"{run:,} of {cells:,} cells were run. A star says that errors of the infrastructure were "
        "left out of a cell; a hatched cell has errors alone; an empty one was not run. A few "
        "attempts a cell say little about that one cell: read rows and columns, not cells.",
    )

"""The screen of a job or a sweep: the matrix, what runs, what it costs, errors, slow trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchflow.base.numbers import MISSING, duration, plural
from benchflow.cli.table import signs, table

if TYPE_CHECKING:
    from benchflow.run.live.sweep_status import Cell, Overview

#: Columns of the matrix that are shown; more agents stand below each other.
_MOST_COLUMNS = 8


def screen(overview: Overview, height: int = 0) -> str:
    """All of it as plain text; with `height`, in at most so many lines, the end left out first."""
    parts = [
        headline(overview),
        _matrix(overview),
        _running(overview),
        _errors(overview),
        _slowest(overview),
    ]
    text = "\n\n".join(part for part in parts if part)
    lines = text.splitlines()
    if height and len(lines) > height:
        hidden = len(lines) - height + 1
        lines = [*lines[: height - 1], f"… {hidden} more lines"]
    return "\n".join(lines)


def headline(overview: Overview) -> str:
    """How far it is and what it cost, in one line."""
    done, planned = len(overview.finished), overview.planned
    words = [f"{done} of {plural(max(planned, done), 'trial')} finished"]
    if overview.running:
        words.append(f"{len(overview.running)} under way")
    if overview.cut_off:
        words.append(f"{overview.cut_off} cut off")
    text = ", ".join(words)
    spent = cost(overview.tokens, overview.usd)
    text += f"; {spent}" if spent else ""
    if overview.unknown:
        text += f" (and {plural(overview.unknown, 'answer')} without a price or a count)"
    return text


def cost(tokens: int, usd: float) -> str:
    """Tokens and dollars; empty for none."""
    from benchflow.base.numbers import dollars

    if not tokens:
        return ""
    return f"{tokens:,} tokens" + (f", {dollars(usd)}" if usd else "")


def _matrix(overview: Overview) -> str:
    agents = list(dict.fromkeys(cell.who for cell in overview.cells))
    tasks = list(dict.fromkeys(cell.task for cell in overview.cells))
    cells = {(cell.task, cell.who): cell for cell in overview.cells}
    title = "resolved of tried"
    if len(agents) <= _MOST_COLUMNS:
        rows = [[task, *(_cell(cells.get((task, who))) for who in agents)] for task in tasks]
        return table([title, *agents], rows)
    rows = [[who, *(_cell(cells.get((task, who))) for task in tasks)] for who in agents]
    return table([title, *tasks], rows)


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    judged = cell.resolved + cell.failed
    text = f"{cell.resolved}/{judged}" if judged else MISSING
    left = cell.planned - cell.finished - cell.running
    more = [
        f"{count} {word}"
        for count, word in ((cell.error, "error"), (cell.running, "running"), (left, "to do"))
        if count > 0
    ]
    return text + (f" ({', '.join(more)})" if more else "")


def _running(overview: Overview) -> str:
    rows = [
        [
            trial.task,
            trial.who,
            trial.phase,
            duration(trial.seconds) + (f" of {duration(trial.limit)}" if trial.limit else ""),
            signs(trial.ladder),
            cost(trial.tokens, trial.usd),
            trial.note,
        ]
        for trial in sorted(overview.running, key=lambda trial: -(trial.seconds or 0))
    ]
    if not rows:
        return ""
    return table(["under way", "", "phase", "since", "ladder", "used", "last"], rows)


def _errors(overview: Overview) -> str:
    return "\n".join(
        f"error, {count}×: {cause}{f': {message}' if message else ''}"
        for cause, (count, message) in overview.errors.items()
    )


def _slowest(overview: Overview) -> str:
    rows = [[t.task, t.who, t.verdict.value, duration(t.seconds), t.name] for t in overview.slowest]
    return table(["slowest", "", "verdict", "time", "where"], rows) if rows else ""


def document(overview: Overview) -> dict[str, Any]:
    """The same for a machine."""
    return {
        "schema": 1,
        "jobs": overview.jobs,
        "is_running": overview.is_running,
        "planned": overview.planned,
        "finished": len(overview.finished),
        "cut_off": overview.cut_off,
        "tokens": overview.tokens,
        "usd": overview.usd,
        "unknown_answers": overview.unknown,
        "cells": overview.cells,
        "running": overview.running,
        "errors": [
            {"cause": cause, "count": count, "message": message}
            for cause, (count, message) in overview.errors.items()
        ],
        "slowest": overview.slowest,
    }

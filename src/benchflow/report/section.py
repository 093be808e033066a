"""A piece of a report, and its two renderings. Names come from sources and are escaped here."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_MARKS = re.compile(r"([\\`*_\[\]<>|#~])")


@dataclass(frozen=True)
class Table:
    """`columns`: headings; those of `left` (by place) hold words, the others figures."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class Section:
    """`points` come before the table, `notes` after it. `essential`: also shown in a terminal."""

    title: str
    points: tuple[str, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    essential: bool = True
    plain: tuple[str, ...] = field(default=())


def terminal(sections: Iterable[Section], width: int = 100) -> str:
    """The essential sections as plain text."""
    blocks: list[str] = []
    for section in sections:
        if not section.essential:
            continue
        lines = [section.title] if section.title else []
        for point in section.points:
            lines += textwrap.wrap(point, width - 2, initial_indent="  ", subsequent_indent="    ")
        if section.table is not None:
            lines += _columns(section.table)
        for note in section.notes:
            lines += textwrap.wrap(note, width - 2, initial_indent="  ", subsequent_indent="  ")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def markdown(title: str, sections: Iterable[Section]) -> str:
    """All sections as one Markdown page."""
    lines = [f"# {escape(title)}", ""]
    for section in sections:
        if section.title:
            lines += [f"## {escape(section.title)}", ""]
        lines += [f"- {escape(point)}" for point in section.points]
        lines += [""] * bool(section.points)
        if section.table is not None:
            lines += [*_markdown_table(section.table), ""]
        for note in section.notes:
            lines += [escape(note), ""]
        for block in section.plain:
            lines += [block, ""]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """So that Markdown shows `text` as it is, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _columns(table: Table) -> list[str]:
    rows = [table.columns, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if i in table.left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return ("  " + "  ".join(cells)).rstrip()

    return [line(row) for row in rows]


def _markdown_table(table: Table) -> list[str]:
    marks = ["---" if i in table.left else "--:" for i in range(len(table.columns))]
    rows = [table.columns, *table.rows]
    shown = ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]
    return [shown[0], "|" + "|".join(marks) + "|", *shown[1:]]

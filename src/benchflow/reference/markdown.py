"""Markdown as our pages have it: tables, sections of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_HEADING = re.compile(r"^(#+) (.+)$")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a newline at its end; "" where there are no rows."""
    lines = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *lines]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def sections(text: str, level: int) -> dict[str, str]:
    """What stands below each heading of `level`, by its words without back quotes.

    It ends at the next heading of that level or above. Lines in fences are no headings.
    """
    found: dict[str, list[str]] = {}
    body: list[str] | None = None
    for line, heading in _lines(text):
        if heading and len(heading[1]) <= level:
            body = found.setdefault(_words(heading[2]), []) if len(heading[1]) == level else None
        elif body is not None:
            body.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def before_sections(text: str, level: int) -> str:
    """What stands before the first heading of `level`."""
    kept = []
    for line, heading in _lines(text):
        if heading and len(heading[1]) == level:
            break
        kept.append(line)
    return "\n".join(kept).strip()


def deeper(text: str, by: int) -> str:
    """The same text, its headings `by` levels further down (six at most)."""
    return "\n".join(
        f"{'#' * min(len(heading[1]) + by, 6)} {heading[2]}" if heading else line
        for line, heading in _lines(text)
    )


def _words(heading: str) -> str:
    return heading.replace("`", "").strip()


def _lines(text: str) -> Iterable[tuple[str, re.Match[str] | None]]:
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        yield line, None if fenced else _HEADING.match(line)

"""Text of tasks and records for a page in Markdown, where none of it is markup."""

from __future__ import annotations

from benchflow.base.text import one_line


def cell(text: str, limit: int = 300) -> str:
    """`text` for a cell of a table: one line that is no markup."""
    plain = one_line(text, limit).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return plain.replace("[", "\\[")

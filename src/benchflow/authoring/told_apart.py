"""One key, two tasks: what of a task the key does not say (`meaning.rest`) tells them apart here.

Folders below `<home>/checks` are named by the key. The first to be checked under a key has the
plain names, and a file says so; one that has another rest has names with that rest in them.
"""

from __future__ import annotations

from pathlib import Path

from benchflow.base import atomic


def claim(plain: Path, rest: str) -> None:
    """From here on folders whose names begin with `plain` are about this `rest`, unless they are
    another one's already."""
    note = _note(plain)
    if not note.exists():
        note.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(note, rest)


def name(plain: Path, rest: str) -> Path:
    """How the names of the folders about this `rest` begin."""
    try:
        whose = _note(plain).read_text(encoding="utf-8")
    except FileNotFoundError:
        return plain
    return plain if whose == rest else plain.with_name(f"{plain.name}-{rest}")


def _note(plain: Path) -> Path:
    return plain.with_name(f"{plain.name}.rest")

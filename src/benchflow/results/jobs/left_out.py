"""What of a trial's artifacts did not cross to its verifier: `<trial>/hand-over.json`.

Only files and folders cross. A link, a device or a socket in the place of a deliverable is the
agent's doing, and its failure; but nobody should have to guess that it was so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchflow.base.atomic import write_json
from benchflow.base.text import one_line
from benchflow.results.json_values import count, mapping, sequence, word
from benchflow.results.safe_files import UnreadableRecord, read_object

NAME = "hand-over.json"
_MOST = 20
_SHOWN = 3


def add(trial: Path, left_out: Iterable[tuple[str, str]]) -> None:
    """Write down paths that were left out, each with the reason. Raises OSError."""
    path = trial / NAME
    try:
        known = read_object(path)
    except UnreadableRecord:
        known = {}
    listed = [mapping(each) for each in sequence(known.get("left_out"))]
    paths = {each.get("path") for each in listed}
    new = [{"path": at, "why": why} for at, why in left_out if at not in paths]
    more = (count(known.get("more")) or 0) + max(0, len(listed) + len(new) - _MOST)
    write_json(path, {"schema": 1, "left_out": [*listed, *new][:_MOST], "more": more})


def told(trial: Path) -> str:
    """What was left out of a trial's hand-over, as one sentence; "" for nothing."""
    try:
        record = read_object(f"{trial}/{NAME}")
    except UnreadableRecord:
        return ""
    listed = [mapping(each) for each in sequence(record.get("left_out"))]
    if not listed:
        return ""
    named = [f"{word(each.get('path'), 200)} ({word(each.get('why'), 200)})" for each in listed]
    more = len(listed) - _SHOWN + (count(record.get("more")) or 0)
    rest = f" and {more} more" if more > 0 else ""
    return one_line(f"left out of the hand-over: {', '.join(named[:_SHOWN])}{rest}", 600)

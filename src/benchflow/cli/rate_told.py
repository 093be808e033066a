"""What was read of answers, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.base.numbers import plural
from benchflow.base.text import one_line
from benchflow.cli.table import table
from benchflow.people.rating import Rating, TaskAnswers
from benchflow.people.reading import Reading
from benchflow.people.recorded import Ratings

_SHOWN = 20


def told(reading: Reading, found: Ratings) -> str:
    """What was kept and left out, then each rater's answers, a line a task, and what they wrote."""
    lines = [f"{plural(len(reading.kept), 'set')} of answers kept"]
    if reading.unlinked:
        lines.append(
            f"  {reading.unlinked} without a one-time link: nothing says that they are of "
            "different people"
        )
    if reading.repeated:
        lines.append(f"  {plural(reading.repeated, 'copy', 'copies')} of them read once")
    if reading.rehearsals:
        lines.append(f"{plural(len(reading.rehearsals), 'rehearsal')}, not counted")
    lines += [f"left out: {one_line(x.place)}: {x.why}" for x in reading.left_out[:_SHOWN]]
    if len(reading.left_out) > _SHOWN:
        lines.append(f"… and {len(reading.left_out) - _SHOWN} more (--json names all)")
    if found:
        rows = [_row(rating, one) for rating in found.ratings for one in rating.tasks]
        header = ["rater", "task", "hours", "would sign", "such work", "would pay", "doubts"]
        lines += ["", table(header, rows)]
        words = [line for rating in found.ratings for line in _words(rating)]
        if words:
            lines += ["", "In their words", *words]
    return "\n".join(lines)


def _words(rating: Rating) -> Iterator[str]:
    """What one rater wrote: for who improves the tasks, not for a figure."""
    who = _who(rating)
    for one in rating.tasks:
        for doubt in one.doubts:
            if doubt.why.strip():
                yield _quoted(who, f"{one.task}, {doubt.demand} {doubt.what}", doubt.why)
        if one.exploit.strip():
            yield _quoted(who, f"{one.task}, points without the work", one.exploit)
    if rating.comment.strip():
        yield _quoted(who, "anything else", rating.comment)


def _quoted(who: str, about: str, words: str) -> str:
    return f"  {who}: {one_line(about, 120)}: “{one_line(words, 600)}”"


def _who(rating: Rating) -> str:
    return one_line(rating.name, 30) or rating.key[:8]


def _row(rating: Rating, one: TaskAnswers) -> list[str]:
    hours = one.hours
    return [
        _who(rating),
        one_line(one.task, 40),
        f"{hours.low:g} – {hours.likely:g} – {hours.high:g}" if hours else "cannot say",
        one.sign,
        one.work,
        one.pay,
        ", ".join(f"{one_line(doubt.demand, 20)} {doubt.what}" for doubt in one.doubts),
    ]

"""What ratings say, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.analysis.bradley_terry import Strengths
from benchflow.base.numbers import plural, signed
from benchflow.base.text import one_line
from benchflow.people.recorded import Ratings
from benchflow.people.said import Said, said
from benchflow.people.said_words import lines
from benchflow.study.statistics import Refused


def said_told(ratings: Ratings) -> str:
    """All of it: each task, difficulty, agreement, the demands most often doubted."""
    return "\n".join(_lines(said(ratings)))


def _lines(found: Said) -> Iterator[str]:
    yield f"\n{plural(found.n_raters, 'rater')}, {found.n_experts} of them of such work"
    for task in found.tasks:
        yield f"\n{one_line(task.task)} {one_line(task.version)}"
        yield from (f"  {label:<14} {words}" for label, words in lines(found, task))
    yield "\nHow hard, on one scale (log-odds; 0 is the mean)"
    if isinstance(found.harder, Strengths):
        scale = found.harder
        for at in sorted(range(len(scale.names)), key=lambda one: -scale.strength[one]):
            low, high = signed(float(scale.low[at])), signed(float(scale.high[at]))
            value = signed(float(scale.strength[at]))
            yield f"  {one_line(scale.names[at]):<30} {value}  ({low} to {high})"
    else:
        yield f"  not told: {found.harder.refused}"
    yield "\nAgreement (Krippendorff's α: 1 full, 0 as by chance)"
    for what, one in found.agreement.items():
        if isinstance(one, Refused):
            yield f"  {what:<18} not told: {one.refused}"
        else:
            yield f"  {what:<18} {one.alpha:.2f}  ({one.low:.2f} to {one.high:.2f})"
    for doubt in found.unfair:
        named = f"{doubt.task}, {doubt.demand}: {doubt.text}"
        yield f"\nDoubted by {doubt.n} of {doubt.n_experts}: {one_line(named, 200)}"
        yield from (f"  “{one_line(words, 300)}”" for words in doubt.words[:5])

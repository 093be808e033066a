"""One comparison in words, the same in a terminal, on a page and in Markdown."""

from __future__ import annotations

from benchflow.base.numbers import p_value, plural, points
from benchflow.study.summary import Pair


def sentence(pair: Pair) -> str:
    """One comparison in words: decided or not, by how much, and what would decide it."""
    comparison = pair.comparison
    difference = comparison.difference
    between = f"{points(difference.low)} to {points(difference.high)} points"
    if comparison.decided:
        better, worse = (pair.a, pair.b) if difference.value > 0 else (pair.b, pair.a)
        if difference.value < 0:
            between = f"{points(-difference.high)} to {points(-difference.low)} points"
        by = abs(100 * difference.value)
        return f"{better} beats {worse} by {by:.1f} points ({between}; " + (
            f"{p_value(comparison.p_corrected)})"
        )
    text = (
        f"{pair.a} and {pair.b}: {points(difference.value)} points ({between}); such data sees "
        f"differences from {100 * comparison.smallest_detectable:.0f} points on"
    )
    if not difference.low <= 0 <= difference.high:
        # More data is no answer to what the number of comparisons has taken away.
        return (
            f"{pair.a} and {pair.b}: {points(difference.value)} points ({between}): a difference "
            "by itself, but not after the correction for the number of comparisons "
            f"({p_value(comparison.p_corrected)})"
        )
    need = pair.need
    if need is None or need.tasks is None:
        return text
    attempts = (
        f" or {plural(need.attempts, 'attempt')} at each task"
        if need.attempts
        else "; no number of attempts at these tasks would"
    )
    return f"{text}; about {plural(need.tasks, 'task')} in all would tell them apart{attempts}"

"""Figures with what belongs to them: a span, a basis, the unit of a measure."""

from __future__ import annotations

import math

from benchflow.analysis.estimate import Estimate
from benchflow.base.numbers import MISSING, dollars, percent, plural
from benchflow.study.summary import Summary

#: Instead of a tier, where others have one.
NOT_RANKED = "not ranked"


def span(low: float, high: float) -> str:
    """49 to 69 %"""
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def with_span(estimate: Estimate | None) -> str:
    """58.8 % (49 to 69 %)"""
    if estimate is None:
        return MISSING
    return f"{percent(estimate.value)} ({span(estimate.low, estimate.high)})"


def amount(value: float, measure: str) -> str:
    """12 min, 3.4 k, $0.52"""
    if not math.isfinite(value):
        return MISSING
    if measure == "minutes":
        return f"{value:.1f} min" if value < 10 else f"{value:.0f} min"
    if measure == "dollars":
        return dollars(value)
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.0f}"


def basis(n_tasks: int, n_trials: int, n_errors: int, method: str, seed: int | None = None) -> str:
    """The five facts that every figure carries."""
    tail = "" if seed is None else f", seed {seed}"
    counts = (plural(n_tasks, "task"), plural(n_trials, "trial"), plural(n_errors, "error"))
    return f"{', '.join(counts)}; {method}{tail}."


def of_parts(summary: Summary) -> tuple[str, ...]:
    """Whose ± is not told apart into tasks and re-runs, and why; what a bound for re-runs is."""
    why: dict[str, list[str]] = {}
    bound = []
    for entry in summary.entries:
        if entry.rate is None:
            continue
        if entry.rate.parts_unknown:
            why.setdefault(entry.rate.parts_unknown, []).append(entry.who)
        elif entry.rate.noise.rerun == 0:
            bound.append(entry.who)
    said = [
        f"How much of the ± of {', '.join(names)} is due to re-runs is unknown: {reason}."
        for reason, names in why.items()
    ]
    if bound:
        said.append(
            f"No task's attempts differ for {', '.join(bound)}: the ± of re-runs is the most that "
            "may have gone unseen, and no part of a sum."
        )
    return tuple(said)

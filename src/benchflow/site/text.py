"""The summary in words and columns, for a terminal."""

from __future__ import annotations

from benchflow.site.summary import Entry, Pair, Summary


def report(summary: Summary) -> str:
    """The whole report: a table best first, then what the data supports and what it does not."""
    lines = [
        f"{summary.n_trials:,} trials that count, {summary.n_errors:,} infrastructure errors left "
        f"out, {len(summary.entries)} agents and models, {summary.n_tasks} tasks",
        "",
    ]
    width = max(len(entry.who) for entry in summary.entries)
    lines.append(
        f"tier  {'agent and model':<{width}}  resolved  ± other tasks  ± re-runs only"
        "  tasks  trials  errors"
    )
    lines += [_entry(entry, width) for entry in summary.entries]
    percent = f"{100 * summary.level:.0f} %"
    lines += [
        "",
        f"± other tasks ({percent}): how far the figure may move on other tasks of the same kind.",
        "± re-runs only: the usual “±”, for the same tasks run again; it is not the uncertainty",
        "of the agent. Within a tier the order says nothing.",
    ]
    decided = [pair for pair in summary.pairs if pair.comparison.decided]
    open_ones = [pair for pair in summary.pairs if not pair.comparison.decided]
    if decided:
        lines += ["", f"What this data supports (corrected for {len(summary.pairs)} comparisons)"]
        lines += [f"  {sentence(pair)}" for pair in decided]
    if open_ones:
        lines += ["", "What it does not"]
        lines += [f"  {sentence(pair)}" for pair in open_ones]
    if not summary.pairs and len(summary.entries) > 1:
        lines += ["", "No comparison: two common tasks or more are needed for each pair."]
    if summary.unknown:
        lines += ["", f"Errors alone, so nothing is known of: {', '.join(summary.unknown)}"]
    return "\n".join(lines)


def sentence(pair: Pair) -> str:
    """One comparison in words: decided or not, by how much, and what would decide it."""
    comparison = pair.comparison
    difference = comparison.difference
    span = f"{_points(difference.low)} to {_points(difference.high)} points"
    if comparison.decided:
        better, worse = (pair.a, pair.b) if difference.value > 0 else (pair.b, pair.a)
        by = abs(100 * difference.value)
        return (
            f"{better} beats {worse} by {by:.1f} points ({span}; p = {comparison.p_corrected:.2g})"
        )
    text = (
        f"{pair.a} and {pair.b}: {_points(difference.value)} points ({span}); such data sees "
        f"differences from {100 * comparison.smallest_detectable:.0f} points on"
    )
    need = pair.need
    if need is None or need.tasks is None:
        return text
    attempts = (
        f" or {need.attempts} attempts at each task"
        if need.attempts
        else "; no number of attempts at these tasks would"
    )
    return f"{text}; about {need.tasks:,} tasks would tell them apart{attempts}"


def _entry(entry: Entry, width: int) -> str:
    tier = "—" if entry.tier is None else str(entry.tier)
    total = rerun = "—"
    if entry.rate is not None:
        total = f"{100 * entry.rate.total.half_width:.1f}"
        if entry.rate.rerun_only is not None:
            rerun = f"{100 * entry.rate.rerun_only.half_width:.1f}"
    outcomes = entry.outcomes
    return (
        f"{tier:<4}  {entry.who:<{width}}  {100 * entry.share:6.2f} %  {total:>13}  {rerun:>14}"
        f"  {len(outcomes.tasks):>5}  {outcomes.n_trials:>6}  {outcomes.errors:>6}"
    )


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"

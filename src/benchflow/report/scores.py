"""Who resolves how much, and which differences hold: the first part of a report."""

from __future__ import annotations

from benchflow.base.numbers import MISSING, percent, plural, points
from benchflow.report.comparison_sentence import sentence
from benchflow.report.figures import NOT_RANKED, of_parts, span, with_span
from benchflow.report.section import Section, Table
from benchflow.study.findings import Findings
from benchflow.study.summary import Entry, Pair


def counted(found: Findings) -> Section:
    """The first lines: what was counted."""
    summary = found.summary
    lines = [
        f"{plural(summary.n_trials, 'trial counts', 'trials count')}, "
        f"{plural(summary.n_errors, 'infrastructure error')} left out; "
        f"{plural(len(summary.entries), 'agent and model', 'agents and models')}, "
        f"{plural(summary.n_tasks, 'task')}"
    ]
    if summary.unknown:
        lines.append(
            f"Only infrastructure errors, so nothing is known of: {', '.join(summary.unknown)}"
        )
    return Section("", notes=tuple(lines))


def rates(found: Findings) -> Section:
    """Entries with the three noises apart."""
    level = f"{100 * found.summary.level:.0f} %"
    example = found.summary.entries[0].rate
    tiered = found.summary.ranked
    return Section(
        "Share of trials resolved",
        table=Table(
            (
                *(("tier",) if tiered else ()),
                "agent and model",
                "resolved",
                "± other tasks",
                "of it: tasks",
                "of it: re-runs",
                f"{level} interval",
                "tasks",
                "trials",
                "errors",
            ),
            tuple(_entry(entry, tiered) for entry in found.summary.entries),
            frozenset({0, 1} if tiered else {0}),
        ),
        notes=(
            f"± other tasks ({level}): how far the figure may move on other tasks of the same "
            "kind, run as often. Its two parts: the choice of tasks, as if each were run without "
            "end, and re-runs of the very same tasks, which is the ± that tables usually print. "
            "total² = tasks² + re-runs² in standard errors."
            + " The data tells nobody within a tier apart: its order says nothing."
            * tiered,
            *of_parts(found.summary),
            *(
                [f"Method: {example.total.method}; re-runs: {example.rerun_only.method}."]
                if example and example.rerun_only
                else []
            ),
        ),
    )


def supported(found: Findings) -> Section:
    """Differences that hold after correction."""
    pairs = [pair for pair in found.summary.pairs if pair.comparison.decided]
    count = plural(len(found.summary.pairs), "comparison")
    title = f"What this data supports (corrected for {count})"
    if not found.summary.pairs:
        if len(found.summary.entries) < 2:
            return Section("", essential=False)
        return Section("No comparison", ("two common tasks or more are needed for each pair",))
    said = tuple(sentence(pair) for pair in pairs) or ("no difference at all",)
    return Section(title, said)


def fragile(found: Findings) -> Section:
    """Conclusions that another defensible reading of the same trials would change."""
    readings: dict[str, list[str]] = {}
    for change in found.changes:
        verb = "would be decided" if change.decided else "would not be decided"
        readings.setdefault(f"If {change.if_}, these {verb}", []).append(
            f"{change.a} and {change.b}"
        )
    if not readings:
        return Section("", essential=False)
    said = tuple(f"{reading}: {'; '.join(names)}" for reading, names in readings.items())
    return Section("What depends on how the trials are read", said)


def unsupported(found: Findings) -> Section:
    """Differences that the data cannot see, and what would show them."""
    pairs = [pair for pair in found.summary.pairs if not pair.comparison.decided]
    if not pairs:
        return Section("", essential=False)
    return Section("What it does not", tuple(sentence(pair) for pair in pairs))


def pairs_table(found: Findings) -> Section:
    """All comparisons in figures."""
    if not found.summary.pairs:
        return Section("", essential=False)
    rows = tuple(
        (
            pair.a,
            pair.b,
            points(pair.comparison.difference.value),
            f"{points(pair.comparison.difference.low)} to "
            f"{points(pair.comparison.difference.high)}",
            f"{pair.comparison.p:.2g}",
            f"{pair.comparison.p_sign_flip:.2g}",
            f"{pair.comparison.p_corrected:.2g}",
            f"{100 * pair.comparison.smallest_detectable:.1f}",
            *_need(pair),
        )
        for pair in found.summary.pairs
    )
    first = found.summary.pairs[0].comparison.difference
    return Section(
        "All comparisons",
        table=Table(
            (
                "A",
                "B",
                "A − B",
                f"{100 * found.summary.level:.0f} % interval",
                "p",
                "p, sign flips",
                "p corrected",
                "smallest detectable",
                "tasks needed",
                "attempts needed",
            ),
            rows,
            frozenset({0, 1}),
        ),
        notes=(
            "Differences in points of the share resolved, each common task weighing the same. "
            "Intervals and p are uncorrected; “p corrected” is Holm's over all comparisons and "
            "decides. “Smallest detectable”: the true difference that such data calls different in "
            "80 % of draws. “Needed”: tasks at today's attempts, or attempts at today's tasks, for "
            "the same 80 % if the difference seen were the true one: an order of magnitude.",
            f"Method: {first.method}, seed {first.seed} (sign flips).",
        ),
        essential=False,
    )


def attempts(found: Findings) -> Section:
    """pass@k and pass^k for the greatest k that everybody has, and 1."""
    known = [one for one in found.attempts.values() if one.any_of]
    most = min((len(one.any_of) for one in known), default=0)
    if most < 2:
        return Section("", essential=False)
    rows = tuple(
        (
            who,
            *(with_span(one.any_of[k - 1]) for k in (1, most)),
            with_span(one.all_of[most - 1]),
            str(one.any_of[most - 1].n_tasks),
        )
        for who, one in found.attempts.items()
        if one.any_of
    )
    one = known[0].any_of[most - 1]
    return Section(
        "Attempts",
        table=Table(
            ("agent and model", "pass@1", f"pass@{most}", f"pass^{most}", f"tasks with {most}"),
            rows,
        ),
        notes=(
            f"pass@k: any of k attempts resolves; pass^k: all k do. pass@1 weighs tasks equally, "
            f"so it may differ from the plain count above. Only tasks with {most} attempts or more "
            f"count for k = {most}: where their numbers differ, the rows are not on the same "
            f"tasks. Method: {one.method}.",
        ),
        essential=False,
    )


def _need(pair: Pair) -> tuple[str, str]:
    if pair.need is None or pair.need.tasks is None:
        return MISSING, MISSING
    return f"{pair.need.tasks:,}", str(pair.need.attempts) if pair.need.attempts else "none"


def _entry(entry: Entry, tiered: bool) -> tuple[str, ...]:
    rate, outcomes = entry.rate, entry.outcomes
    widths = [MISSING, MISSING, MISSING]
    between = MISSING
    if rate is not None:
        parts = (rate.plus_minus.total, rate.plus_minus.tasks, rate.plus_minus.rerun)
        widths = [MISSING if one is None else f"{100 * one:.1f}" for one in parts]
        between = span(rate.total.low, rate.total.high)
    return (
        *(((NOT_RANKED if entry.tier is None else str(entry.tier)),) if tiered else ()),
        entry.who,
        percent(entry.share, 2),
        *widths,
        between,
        str(len(outcomes.tasks)),
        str(outcomes.n_trials),
        str(outcomes.errors),
    )

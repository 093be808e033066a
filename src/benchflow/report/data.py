"""What the data itself leaves open, and how everything was computed: the end of a report."""

from __future__ import annotations

from benchflow.base.numbers import MISSING, percent, plus_minus
from benchflow.report.section import Section, Table
from benchflow.study.findings import Findings


def limits(found: Findings) -> Section:
    """Gaps, doubts and mixtures of this data."""
    said = list(found.mixtures)
    rows: list[tuple[str, ...]] = []
    for entry in found.summary.entries:
        who = entry.who
        gap, doubt = found.gaps.get(who), found.doubted.get(who)
        if gap is None and doubt is None:
            continue
        rows.append(
            (
                who,
                percent(entry.share, 2),
                percent(gap.equal_tasks, 2) if gap else "the same",
                f"{gap.fewest}–{gap.most}" if gap else "even",
                f"{gap.missing}: {percent(gap.as_failures)}" if gap and gap.missing else MISSING,
                f"{doubt.n}: {percent(doubt.without)}"
                if doubt and doubt.without is not None
                else MISSING,
            )
        )
    table = None
    notes: tuple[str, ...] = ()
    if rows:
        table = Table(
            (
                "agent and model",
                "plain count",
                "tasks alike",
                "attempts",
                "missing: if failed",
                "silent tests: if errors",
            ),
            tuple(rows),
        )
        notes = (
            "“Tasks alike”: the rate with each task weighing the same. “Attempts”: fewest and most "
            "at a task. “Missing”: trials fewer than the usual number at each task, which nobody "
            "knows the end of, and the rate if they had failed. “Silent tests”: trials whose tests "
            "gave no readable result or did not end, and the rate without them; they count as "
            "failures, as in the source, though the verifier may be at fault.",
        )
    if found.by_name is not None:
        n, rates = found.by_name
        shown = ", ".join(
            f"{who} {plus_minus(rate.plus_minus.total)}" for who, rate in rates.items()
        )
        said.append(
            "versions of one task, and tasks whose names agree up to the first dot, count as tasks "
            "of their own, though they may be much alike: with one unit for all that are, which "
            f"leaves {n}, ± other tasks would be {shown}"
        )
    if not said and table is None:
        return Section("", essential=False)
    return Section("What this data leaves open", tuple(said), table, notes)


def unread(found: Findings) -> Section:
    """Records that could not be read as they should be."""
    if not found.problems:
        return Section("", essential=False)
    said = [str(one) for one in found.problems[:20]]
    if len(found.problems) > 20:
        said.append(f"and {len(found.problems) - 20} more")
    return Section("Not read as it should be", tuple(said), essential=False)


def method(found: Findings) -> Section:
    """How it was computed, and what no figure here can say."""
    unit = "generator" if any(e.outcomes.generators for e in found.summary.entries) else "task"
    level = f"{100 * found.summary.level:.0f} %"
    return Section(
        "How this was computed, and its limits",
        (
            f"The unit of inference is the {unit}: the tasks stand for other tasks of their kind. "
            f"Every ± and interval is at {level} and carries task sampling unless it is named "
            "“re-runs”.",
            "Infrastructure errors are a third verdict: counted, shown, and in no rate.",
            "Comparisons are paired by task; a difference is called supported only after Holm's "
            "correction over all of them. What is not supported is not shown to be absent: the "
            "smallest detectable difference says what could have been seen.",
            "Tiers: a tier holds all that its best member is not shown to beat; two members of "
            "different tiers need not differ by much.",
            "Failure labels come from a fixed table of rules over class names, statuses and "
            "counts; no language model judged anything.",
            "Agents and models are those that were submitted, as they were then. That tasks are "
            "drawn from a population is an assumption: a benchmark's tasks are chosen by people. "
            "Whether a model saw a task in training, and whether a test can be satisfied without "
            "the work, cannot be read from these records.",
            "Formulas, sources and the measured coverage of each interval: docs/analysis.md.",
        ),
        essential=False,
    )

"""The whole report: which sections, in which order, and both renderings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchflow.report import data, failure_reasons, hosts, overview, scores, tasks
from benchflow.report.section import Section, markdown, terminal
from benchflow.study.findings import Findings


def sections(found: Findings) -> tuple[Section, ...]:
    """In reading order; those with nothing to say are left out."""
    made = (
        scores.counted(found),
        overview.short(found),
        scores.rates(found),
        scores.supported(found),
        scores.unsupported(found),
        scores.fragile(found),
        scores.pairs_table(found),
        scores.attempts(found),
        overview.agent_or_model(found),
        failure_reasons.over_claims(found),
        failure_reasons.failures(found),
        failure_reasons.phases(found),
        failure_reasons.milestones(found),
        failure_reasons.budgets(found),
        failure_reasons.soon(found),
        failure_reasons.behaviour(found),
        tasks.difficulty(found),
        tasks.skills(found),
        tasks.horizons(found),
        hosts.hosts(found),
        data.limits(found),
        data.unread(found),
        data.method(found),
    )
    return tuple(one for one in made if one.points or one.table or one.notes)


def in_terminal(found: Findings) -> str:
    """The essentials as plain text."""
    return terminal(sections(found))


def as_markdown(found: Findings, sources: Sequence[Path]) -> str:
    """Everything as one page, with the command that makes it again."""
    names = " ".join(path.name for path in sources)
    intro = Section(
        "",
        notes=(
            f"Made by: benchflow report {names} --markdown. Every figure and every sentence on "
            "this page comes out of that command.",
        ),
    )
    return markdown(f"What the trials in {names} say", (intro, *sections(found)))

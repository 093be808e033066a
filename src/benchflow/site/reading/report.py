"""The whole report: which sections, in which order, and both renderings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchflow.site.findings import Findings
from benchflow.site.reading import data, overview, scores, tasks, why
from benchflow.site.reading.section import Section, markdown, terminal


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
        why.over_claims(found),
        why.failures(found),
        why.phases(found),
        why.rungs(found),
        why.budgets(found),
        why.soon(found),
        why.behaviour(found),
        tasks.difficulty(found),
        tasks.skills(found),
        tasks.horizons(found),
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

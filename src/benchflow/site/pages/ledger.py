"""The infrastructure's ledger: errors by cause, how trials ended, what could not be read."""

from __future__ import annotations

from collections import Counter

from benchflow.base import numbers
from benchflow.base.text import one_line
from benchflow.results.model import Problem, Verdict
from benchflow.site.page_model import Block, Cell, Column, Page, Section, Table
from benchflow.site.pages.common import Put, nothing, number, text
from benchflow.site.study import Study
from benchflow.site.urls import trial_page

_MOST_ERRORS = 500


def make(study: Study, put: Put) -> Page:
    """Errors never count against an agent; here they are all counted."""
    errors = [record for record in study.records if record.verdict is Verdict.ERROR]
    return Page(
        path="ledger.html",
        title="The ledger",
        lede=(
            f"{numbers.plural(len(errors), 'infrastructure error')} in "
            f"{numbers.plural(len(study.records), 'trial')}, and "
            f"{numbers.plural(len(study.problems), 'thing')} that could not be read as it should "
            "be. None counts against an agent, and none is dropped silently.",
        ),
        sections=(
            Section("causes", "Errors by cause", _causes(study)),
            Section("errors", "Each error", _each(study)),
            Section("endings", "How judged trials ended", _endings(study)),
            Section("problems", "What could not be read", _problems(study)),
        ),
        nav="ledger.html",
    )


def _causes(study: Study) -> tuple[Block, ...]:
    found = Counter((r.cause, r.who) for r in study.records if r.verdict is Verdict.ERROR)
    if not found:
        return (nothing("No infrastructure error."),)
    causes = Counter(r.cause for r in study.records if r.verdict is Verdict.ERROR)
    return (_crossed(study, "causes", "Cause", causes, found),)


def _endings(study: Study) -> tuple[Block, ...]:
    judged = [r for r in study.records if r.verdict is not Verdict.ERROR]
    causes = Counter(r.cause or r.failure_mode or "ended by itself" for r in judged)
    found = Counter((r.cause or r.failure_mode or "ended by itself", r.who) for r in judged)
    if not found:
        return (nothing("No trial was judged."),)
    return (
        _crossed(study, "endings", "What ended the agent, in the source's words", causes, found),
    )


def _crossed(
    study: Study, key: str, label: str, causes: Counter[str], found: Counter[tuple[str, str]]
) -> Table:
    entries = [who for who in study.entries if any(found[cause, who] for cause in causes)]
    rows = tuple(
        (
            text(cause),
            *(number(found[cause, who], str(found[cause, who] or "")) for who in entries),
            number(total),
        )
        for cause, total in causes.most_common()
    )
    columns = (
        Column("cause", label),
        *(Column(who, who, numeric=True, href=study.at.entry(who)) for who in entries),
        Column("all", "All", numeric=True),
    )
    return Table(key, "", columns, rows, look="cross")


def _each(study: Study) -> tuple[Block, ...]:
    errors = [record for record in study.records if record.verdict is Verdict.ERROR]
    if not errors:
        return (nothing("None."),)
    table = Table(
        "errors",
        "",
        (
            Column("trial", "Trial"),
            Column("who", "Agent and model"),
            Column("cause", "Cause"),
            Column("message", "Message", prose=True),
        ),
        tuple(
            (text(r.trial, trial_page(r.uid)), text(r.who), text(r.cause), text(r.cause_message))
            for r in errors[:_MOST_ERRORS]
        ),
        tools=True,
    )
    if len(errors) <= _MOST_ERRORS:
        return (table,)
    more = f"The first {_MOST_ERRORS} of {len(errors):,}; the list of trials has all of them."
    return (table, nothing(more))


def _problems(study: Study) -> tuple[Block, ...]:
    if not study.problems:
        return (nothing("Everything could be read."),)
    return (
        Table(
            "problems",
            "",
            (Column("path", "File or folder"), Column("message", "What is wrong", prose=True)),
            tuple(map(_problem, study.problems)),
            tools=len(study.problems) > 8,
        ),
    )


def _problem(found: Problem) -> tuple[Cell, ...]:
    return text(one_line(str(found.path), 4096)), text(one_line(found.message, 1000))

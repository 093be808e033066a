"""Where and why they stop: phase reached by proximate cause, and claims that were wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from benchflow.analysis.estimate import Estimate
from benchflow.base import numbers
from benchflow.site.page_model import Block, Cell, Column, Page, Section, Span, Table
from benchflow.site.pages.common import Put, by_reason, nothing, number, text, who_cell
from benchflow.site.study import Study
from benchflow.study.failures import DOUBTED, PHASES, TITLES, Label, crossed, labels
from benchflow.study.statistics import over_claims


def make(study: Study, put: Put) -> Page:
    """Failures by cause, and over-claiming."""
    found = labels(study.trials.records)
    return Page(
        path="failures.html",
        title="Where and why they stop",
        lede=(
            f"{numbers.plural(len(found), 'failed trial')}, each with the phase that it reached "
            "and its proximate cause, from rules over what was recorded. Nothing here is a model's "
            "opinion.",
        ),
        sections=(
            Section("causes", "By cause", tuple(_causes(study, found))),
            Section("phases", "How far, and why there", tuple(_phases(found))),
            Section("claims", "Said done, was not", tuple(_claims(study))),
        ),
        nav="failures.html",
    )


def _causes(study: Study, found: tuple[Label, ...]) -> Iterator[Block]:
    if not found:
        yield nothing("No trial failed.")
        return
    causes = Counter(one.cause for one in found)
    cells = Counter((one.cause, one.who) for one in found)
    failed = Counter(one.who for one in found)
    entries = [who for who in study.ranked if failed[who]]
    rows = tuple(
        (
            Cell(cause, TITLES.get(cause, cause) + ("*" if cause in DOUBTED else ""), note=cause),
            *(_part(cells[cause, who], failed[who]) for who in entries),
            number(total),
        )
        for cause, total in causes.most_common()
    )
    columns = (
        Column("cause", "Cause"),
        *(Column(who, who, href=study.at.entry(who)) for who in entries),
        Column("all", "All", numeric=True),
    )
    yield Table("causes", "Of each one's failures.", columns, rows, look="heat")
    if DOUBTED & set(causes):
        yield nothing("* One may doubt that the agent is at fault: the tests said nothing.")


def _part(count: int, of: int) -> Cell:
    if not of:
        return Cell(None, "", tone="none")
    return Cell(count, str(count) if count else "", tone=f"h{round(7 * count / of)}")


def _phases(found: tuple[Label, ...]) -> Iterator[Block]:
    if not found:
        return
    table = crossed(found)
    causes = [cause for cause, _ in Counter(one.cause for one in found).most_common()]
    most = max(table.values())
    rows = tuple(
        (
            text(phase),
            *(
                Cell(n, str(n) if n else "", tone=f"h{round(7 * n / most)}")
                for cause in causes
                for n in (table[phase, cause],)
            ),
        )
        for phase in PHASES
        if any(table[phase, cause] for cause in causes)
    )
    columns = (
        Column("phase", "Milestones passed"),
        *(Column(cause, TITLES.get(cause, cause)) for cause in causes),
    )
    yield Table("phases", "Failed trials.", columns, rows, look="heat")


def _claims(study: Study) -> Iterator[Block]:
    found = over_claims(study.trials, study.level)
    if found.claims:
        columns = (
            Column("who", "Agent and model"),
            Column("said", "Claimed success", numeric=True),
            Column("wrong", "Claims that were wrong", numeric=True),
            Column("silent", "Failures that came with a claim", numeric=True),
            Column("kind", "What counts as a claim"),
        )
        rows = tuple(
            (
                who_cell(study, who),
                _estimate(one.said_done),
                _estimate(one.wrong),
                _estimate(one.silent),
                text("it said so" if found.declared[who] else "its run ended by itself"),
            )
            for who, one in found.claims.items()
        )
        yield Table("claims", "Intervals for other tasks.", columns, rows)
    if found.left_out:
        yield nothing(found.left_out)
    for why, names in by_reason(found.refused):
        yield nothing(f"{names}: {why}.")


def _estimate(one: Estimate | None) -> Cell:
    if one is None:
        return Cell(None, numbers.MISSING)
    note = f"{numbers.percent(one.low)} to {numbers.percent(one.high)}"
    return Cell(
        one.value, numbers.percent(one.value), span=Span(one.value, (one.low, one.high)), note=note
    )

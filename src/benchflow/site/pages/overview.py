"""The first page: who is how good, with both kinds of ±, in tiers; what the data supports."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

from msgspec.structs import replace

from benchflow.base import numbers
from benchflow.report.comparison_sentence import sentence
from benchflow.report.figures import NOT_RANKED, of_parts
from benchflow.results.records import Record
from benchflow.site import charts
from benchflow.site.page_model import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Inline,
    Link,
    Page,
    Prose,
    Section,
    Table,
)
from benchflow.site.pages import under_way
from benchflow.site.pages.common import (
    BOTH_KINDS,
    Put,
    half_cell,
    nothing,
    number,
    rate_cell,
    text,
    who_cell,
)
from benchflow.site.study import Study, counts
from benchflow.study.baselines import is_probe, said_of
from benchflow.study.summary import Entry, Pair

_SHOWN_PAIRS = 8
_UNRANKED = "Nobody is ranked: too few tasks are shared, and the order says nothing."


def make(study: Study, put: Put) -> Page:
    """The overview."""
    resolved, failed, errors = counts(study.records)
    sections = [
        Section("numbers", "", (_numbers(study), *map(nothing, who_was_measured(study)))),
        under_way.section(study),
        Section("tiers", "Share of trials resolved", _tiers(study)),
        Section("supports", "What this data supports", _statements(study, decided=True)),
        Section("open", "What it does not", _statements(study, decided=False)),
        Section("probes", "Probes of the tasks", _probes(study)),
        Section("sources", "Where it comes from", _sources(study)),
    ]
    return Page(
        path="index.html",
        title=study.title,
        lede=(
            f"{_who(study)} tried "
            f"{numbers.plural(len(study.tasks), 'task')} "
            f"{numbers.plural(len(study.records), 'time')}: "
            f"{numbers.plural(resolved, 'trial')} resolved, {failed:,} failed, "
            f"{numbers.plural(errors, 'infrastructure error')}, counted apart.",
        ),
        sections=tuple(section for section in sections if section.blocks),
        nav="index.html",
    )


def who_was_measured(study: Study) -> tuple[str, ...]:
    """Where nobody here can be chosen by name, that it is so, and who was measured instead."""
    unnamed = [who for who in study.ranked if _is_unnamed(study.of_entry(who)[0])]
    local = [who for who in study.ranked if _is_local(study.of_entry(who)[0])]
    if not study.ranked or len(unnamed) + len(local) < len(study.ranked):
        return ()

    def told(names: list[str], what: str) -> list[str]:
        n = sum(len(study.of_entry(who)) for who in names)
        return [f"{numbers.plural(n, 'trial')} by {', '.join(names)} ({what})"] if names else []

    measured = [
        *told(unnamed, "connected from outside, its product not named"),
        *told(local, "models served on the measuring machine itself"),
    ]
    return (
        "No coding agent with a provider's model has been measured here by name yet, so these "
        f"pages do not say which agent to choose. Measured were {'; '.join(measured)}.",
    )


def _is_unnamed(record: Record) -> bool:
    return record.agent == "external" or "unnamed" in record.model.lower()


def _is_local(record: Record) -> bool:
    host = urlsplit(record.model).hostname if "://" in record.model else None
    return host in ("127.0.0.1", "localhost", "::1")


def _who(study: Study) -> str:
    agents = numbers.plural(len(study.ranked), "agent and model", "agents and models")
    probes = len(study.entries) - len(study.ranked)
    if any(is_probe(record) for record in study.records) and not probes:
        return numbers.plural(len(study.ranked), "probe")
    return agents + (f" and {numbers.plural(probes, 'probe')}" if probes else "")


def _probes(study: Study) -> tuple[Block, ...]:
    """A line each for what ran on the tasks without being an agent, where agents ran too."""
    ranked = frozenset(study.ranked)
    rows = []
    for who in study.entries:
        if who in ranked:
            continue
        found = study.of_entry(who)
        resolved, failed, errors = counts(found)
        tasks = number(len({record.task for record in found}))
        rows.append((who_cell(study, who), number(resolved), number(failed), number(errors), tasks))
    columns = (
        Column("who", "Probe"),
        Column("resolved", "Resolved", numeric=True),
        Column("failed", "Failed", numeric=True),
        Column("errors", "Errors", numeric=True),
        Column("tasks", "Tasks", numeric=True),
    )
    said = tuple(nothing(f"{one[0].upper()}{one[1:]}.") for one in said_of(study.records))
    if not rows:
        return said
    return (*said, Table("probes", "", columns, tuple(rows), tools=len(rows) > 8))


def _numbers(study: Study) -> Facts:
    resolved, failed, errors = counts(study.records)
    return Facts(
        (
            ("Trials", number(len(study.records), href="trials.html")),
            ("Resolved", number(resolved, href="trials.html#verdict=resolved")),
            ("Failed", number(failed, href="trials.html#verdict=failed")),
            ("Errors", number(errors, href="ledger.html")),
            ("Tasks", number(len(study.tasks), href="tasks.html")),
        ),
        "headline",
    )


def _tiers(study: Study) -> tuple[Block, ...]:
    summary = study.summary
    if summary is None:
        return (nothing("No finished trial counts yet, so there is nothing to compare."),)
    percent = f"{100 * summary.level:.0f} %"
    table = tier_table(study)
    rows = [_interval(entry) for entry in summary.entries if entry.rate]
    figure = Figure(
        "resolved",
        "Share of trials resolved",
        f"Thin line: {percent} interval for other tasks of the same kind. Thick "
        "line: re-runs of the same tasks only, the one that is usually printed. "
        + ("Within a tier the order says nothing." if summary.ranked else _UNRANKED),
        charts.intervals(rows, "resolved, %", _domain(rows), "Share of trials resolved")
        if rows
        else "",
        table,
    )
    said = tuple(nothing(one) for one in of_parts(summary))
    if not rows:
        return (table,)
    return (figure, table, *said) if figure.svg else (figure, *said)


def _interval(entry: Entry) -> dict[str, object]:
    rate = entry.rate
    assert rate is not None
    inner = rate.rerun_only
    tier = "" if entry.tier is None else f"{entry.tier} · "
    return {
        "name": f"{tier}{entry.who}",
        "value": 100 * rate.total.value,
        "low": 100 * rate.total.low,
        "high": 100 * rate.total.high,
        "inner_low": 100 * inner.low if inner else None,
        "inner_high": 100 * inner.high if inner else None,
    }


def _domain(rows: list[dict[str, object]]) -> list[float]:
    highest = max(float(str(row["high"])) for row in rows)
    return [0, min(100.0, 10 * (highest // 10 + 1))]


def tier_table(study: Study) -> Table:
    """Every entry with both kinds of ±, best first."""
    assert study.summary is not None
    rows = [_row(study, entry) for entry in study.summary.entries]
    missing = Cell(None, numbers.MISSING)
    of = {who: sum(record.who == who for record in study.records) for who in study.summary.unknown}
    rows += [
        (
            replace(missing, tone="tight"),
            who_cell(study, who),
            missing,
            missing,
            missing,
            number(0),
            number(0),
            number(of[who]),
        )
        for who in study.summary.unknown
    ]
    table = Table(
        "tiers",
        BOTH_KINDS,
        (
            Column("tier", "Tier"),
            Column("who", "Agent and model"),
            Column("share", "Resolved", numeric=True),
            Column("total_half", "± other tasks", numeric=True),
            Column("rerun_half", "± re-runs only", numeric=True),
            Column("tasks", "Tasks", numeric=True),
            Column("trials", "Trials", numeric=True),
            Column("errors", "Errors", numeric=True),
        ),
        tuple(rows),
        tools=len(rows) > 8,
    )
    if study.summary.ranked:
        return table
    return replace(table, columns=table.columns[1:], rows=tuple(row[1:] for row in table.rows))


def _row(study: Study, entry: Entry) -> tuple[Cell, ...]:
    rate, outcomes = entry.rate, entry.outcomes
    half = rate.plus_minus if rate else None
    return (
        Cell(entry.tier, NOT_RANKED if entry.tier is None else str(entry.tier), tone="tight"),
        who_cell(study, entry.who),
        rate_cell(rate, entry.share),
        half_cell(half.total if half else None),
        half_cell(half.rerun if half else None),
        number(len(outcomes.tasks)),
        number(outcomes.n_trials),
        number(outcomes.errors),
    )


def _statements(study: Study, *, decided: bool) -> tuple[Block, ...]:
    if study.summary is None:
        return ()
    if not study.summary.pairs:
        if decided or len(study.summary.entries) < 2:
            return ()
        return (nothing("No two share the two tasks that a comparison needs."),)
    pairs = [p for p in study.summary.pairs if p.comparison.decided == decided]
    if not pairs:
        none = "No difference between any two." if decided else "Every pair is told apart."
        return (nothing(none),)
    pairs.sort(key=lambda pair: -abs(pair.comparison.difference.value))
    blocks: list[Block] = [Prose(tuple(_statement(study, p) for p in pairs[:_SHOWN_PAIRS]), "list")]
    if len(pairs) > _SHOWN_PAIRS:
        more = f"All {len(study.summary.pairs)} comparisons"
        blocks.append(Prose(((Link(more, "comparisons.html"), "."),)))
    if decided:
        corrected = (
            f"Corrected for {numbers.plural(len(study.summary.pairs), 'comparison')} (Holm)."
        )
        blocks.append(nothing(corrected))
    return tuple(blocks)


def _statement(study: Study, pair: Pair) -> tuple[Inline, ...]:
    said = f"{sentence(pair)}. "
    if pair in study.compared:
        return (said, Link("See it task by task", study.at.pair(pair.a, pair.b)))
    return (said,)


def _sources(study: Study) -> tuple[Block, ...]:
    found = Counter((str(record.source), record.format.value) for record in study.records)
    table = Table(
        "sources",
        "",
        (
            Column("source", "Source"),
            Column("format", "Read as"),
            Column("trials", "Trials", numeric=True),
        ),
        tuple((text(source), text(kind), number(n)) for (source, kind), n in found.items()),
    )
    if not study.problems:
        return (table, nothing("Everything in these sources could be read."))
    said = f"{numbers.plural(len(study.problems), 'thing')} could not be read as it should be: "
    return (
        table,
        Prose(((said, Link("the ledger", "ledger.html#problems"), " names each."),), "note"),
    )

"""What people would rather have of two deliverables, not knowing whose they are."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.analysis.bradley_terry import Strengths
from benchflow.arena.figures import Answered, Figures
from benchflow.arena.pack import Whose
from benchflow.arena.proof import Beside
from benchflow.base import numbers
from benchflow.base.text import one_line
from benchflow.site import charts
from benchflow.site.page_model import (
    Block,
    Cell,
    Column,
    Figure,
    Link,
    Page,
    Prose,
    Section,
    Table,
)
from benchflow.site.pages.common import OVERVIEW, Put, nothing, number, text
from benchflow.site.study import Study
from benchflow.site.urls import trial_page

_MOST_WORDS = 20
_WORDS = 400


def make(study: Study, found: Figures, put: Put) -> Page:
    """All that votes say."""
    left_out = sum(found.left_out.values())
    named = f" With thanks to {', '.join(found.names)}." if found.names else ""
    away = (
        f" {numbers.plural(left_out, 'more voter')} did not look, and "
        f"{'is' if left_out == 1 else 'are'} in no figure."
        if left_out
        else ""
    )
    alike = (
        f" A pair that was shown twice was answered alike {found.agreed} of {found.repeated} times."
        if found.repeated
        else ""
    )
    return Page(
        path="votes.html",
        title="What people would rather have",
        crumbs=(OVERVIEW,),
        lede=(
            f"{numbers.plural(found.voters, 'person has', 'people have')} looked at pairs of "
            "deliverables for one task, side by side, without knowing whose they are or what the "
            f"checks found.{away}{alike}{named}",
        ),
        sections=(
            *(
                Section(one.question, one.text, tuple(_question(study, one, found.by)))
                for one in found.questions
            ),
            Section(
                "pairs", "Pair by pair, beside the verdicts",
                (_pairs(study, found.questions[0].proof.pairs),),
            ),
            *_words(found),
        ),
        nav="votes.html",
    )  # fmt: skip


def of_task(study: Study, task: str) -> tuple[Block, ...]:
    """The pairs of one task."""
    pairs = study.voted_on(task)
    if not pairs:
        return ()
    return (_pairs(study, pairs), Prose(((Link("All that votes say", "votes.html"),),)))


def _question(study: Study, one: Answered, by: str) -> Iterator[Block]:
    strengths = None if one.too_few else one.strengths
    yield _standings(study, one, by, strengths)
    if strengths is not None:
        yield _figure(one, strengths)
    else:
        why = one.too_few or one.refused
        yield nothing(f"Who is ahead cannot be told: {why}. What stands above are plain counts.")
    yield Prose(tuple((sentence,) for sentence in _sentences(one, strengths)), look="list")


def _standings(study: Study, one: Answered, by: str, strengths: Strengths | None) -> Table:
    tiers = strengths.tiers() if strengths else []
    tier = {name: number for number, names in enumerate(tiers, 1) for name in names}
    known, adjusted = _by_name(strengths), _by_name(one.adjusted if strengths else None)
    rows = tuple(
        (
            _name(study, each.name),
            Cell(tier.get(each.name), str(tier.get(each.name, numbers.MISSING))),
            number(each.won),
            number(each.lost),
            number(each.neither),
            known.get(each.name, Cell(None, numbers.MISSING)),
            adjusted.get(each.name, Cell(None, numbers.MISSING)),
        )
        for each in one.standings
    )
    columns = (
        Column("name", "Trial" if by == "trial" else "Agent and model"),
        Column("tier", "Tier", numeric=True, help="the best, and all that it is not shown to beat"),
        Column("won", "Won", numeric=True),
        Column("lost", "Lost", numeric=True),
        Column("neither", "No difference", numeric=True),
        Column("strength", "Strength", help="log-odds, Bradley–Terry, with its interval"),
        Column("adjusted", "At equal sway", help="side, length, words and files allowed for"),
    )
    caption = (
        f"{one.text} {numbers.plural(one.n_votes, 'vote')} of "
        f"{numbers.plural(one.n_voters, 'voter')} on "
        f"{numbers.plural(one.n_tasks, 'task')}; “no difference” is in no strength."
    )
    return Table(f"standings-{one.question}", caption, columns, rows)


def _by_name(found: Strengths | None) -> dict[str, Cell]:
    if found is None:
        return {}
    rows = zip(found.names, found.strength, found.low, found.high, strict=True)
    return {
        name: Cell(
            [float(value), float(low), float(high)],
            f"{numbers.signed(float(value))} ({numbers.signed(float(low))} to "
            f"{numbers.signed(float(high))})",
        )
        for name, value, low, high in rows
    }


def _figure(one: Answered, found: Strengths) -> Figure:
    reading = (
        f"{one.text} Log-odds of being preferred, Bradley–Terry, 0 the mean; "
        f"{100 * found.level:.0f} % intervals, {numbers.plural(found.n_votes, 'vote')}, errors "
        "clustered by voter and task."
    )
    order = sorted(range(len(found.names)), key=lambda at: -found.strength[at])
    rows = [
        {"name": found.names[at], "value": float(found.strength[at]), "low": float(found.low[at]),
         "high": float(found.high[at]), "inner_low": None, "inner_high": None}
        for at in order
    ]  # fmt: skip
    ends = [float(end) for end in (*found.low, *found.high)]
    svg = charts.intervals(rows, "strength (log-odds)", [min(ends), max(ends)], reading)
    cells = tuple(
        (text(found.names[at]), Cell(value := float(found.strength[at]), numbers.signed(value)))
        for at in order
    )
    columns = (Column("name", "Name"), Column("strength", "Strength", numeric=True))
    table = Table(f"values-{one.question}", "", columns, cells)
    return Figure(f"strengths-{one.question}", "Who is preferred", reading, svg, table)


def _sentences(one: Answered, strengths: Strengths | None) -> Iterator[str]:
    proof = one.proof
    if proof.n:
        told = (
            f"Beside the verdicts: {proof.n_more} of {proof.n} votes went to the side of which "
            "more was proved"
        )
        if proof.share is not None and not one.too_few:
            told += (
                f", {numbers.percent(proof.share, 0)} ({numbers.percent(proof.low, 0)} to "
                f"{numbers.percent(proof.high, 0)}; 50 % is no agreement)"
            )
        yield f"{told}."
    leans = [f"{lean.name} {lean.more} of {lean.of}" for lean in one.leans if lean.of]
    if leans:
        yield f"Votes went to the side that: {', '.join(leans)}."
    swayed = [
        f"{sway.name} {numbers.signed(sway.effect)} ({numbers.signed(sway.low)} to "
        f"{numbers.signed(sway.high)})"
        for sway in (one.adjusted.sways if one.adjusted and strengths else ())
    ]
    if swayed:
        yield f"What else sways votes, in log-odds at equal strengths: {', '.join(swayed)}."
    if one.n_same:
        yield f"{numbers.plural(one.n_same, 'vote')} between two attempts of one agent rank nobody."


def _pairs(study: Study, pairs: tuple[Beside, ...]) -> Table:
    rows = tuple(
        (
            text(one_line(pair.task, 60), _task_page(study, pair)),
            _side(study, pair.more),
            number(pair.for_more),
            _side(study, pair.less),
            number(pair.for_less),
            number(pair.neither),
            text(_agrees(pair)),
        )
        for pair in pairs
    )
    columns = (
        Column("task", "Task"),
        Column("more", "More was proved of", prose=True),
        Column("for_more", "Votes", numeric=True),
        Column("less", "Less of", prose=True),
        Column("for_less", "Votes", numeric=True),
        Column("neither", "No difference", numeric=True),
        Column("agrees", "People and proof", prose=True),
    )
    return Table(
        "pairs", "Votes on the first question, which is asked of all pairs.", columns, rows
    )


def _agrees(pair: Beside) -> str:
    if pair.is_even:
        return "as much of both"
    if pair.for_more == pair.for_less:
        return "undecided"
    return "people part from the proof" if pair.parts else "agree"


def _side(study: Study, side: Whose) -> Cell:
    known = {record.uid for record in study.records}
    href = trial_page(side.uid) if side.uid in known else ""
    return text(
        f"{one_line(side.trial, 80)}: {side.verdict}, {side.passed} of {side.milestones}", href
    )


def _task_page(study: Study, pair: Beside) -> str:
    uids = {pair.more.uid, pair.less.uid}
    task = next((record.task for record in study.records if record.uid in uids), "")
    return study.at.task(task) if task else ""


def _name(study: Study, name: str) -> Cell:
    return text(one_line(name, 80), study.at.entry(name) if name in study.entries else "")


def _words(found: Figures) -> Iterator[Section]:
    said = tuple(
        (
            f"{one_line(one.task, 60)}, "
            f"{f'for {one_line(one.trial, 80)}' if one.trial else 'no difference'}: "
            f"“{one_line(one.words, _WORDS)}”",
        )
        for one in found.remarks[:_MOST_WORDS]
    )
    if said:
        yield Section("words", "What decided it, in voters’ words", (Prose(said, look="list"),))

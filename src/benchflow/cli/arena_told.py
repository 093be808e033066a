"""What votes say, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchflow.base.numbers import plural, signed
from benchflow.base.text import one_line
from benchflow.cli.table import table

if TYPE_CHECKING:
    from benchflow.analysis.bradley_terry import Strengths
    from benchflow.arena.figures import Answered, Figures, Remark
    from benchflow.arena.pack import Whose
    from benchflow.arena.proof import Beside
    from benchflow.people.reading import Reading

_THIN = "fewer than 8 voters or tasks: these intervals hold the truth too seldom"


def told(reading: Reading, found: Figures) -> str:
    """All of it, for a terminal."""
    lines = [
        f"{plural(found.voters, 'voter')} counted; {plural(len(reading.rehearsals), 'rehearsal')} "
        f"never counted; {reading.unlinked} of {len(reading.kept)} came without a link"
    ]
    lines += [f"left out: {one.place}: {one.why}" for one in reading.left_out]
    lines += [f"left out: {n} who {why}" for why, n in found.left_out.items()]
    if found.unseen:
        lines.append(
            f"left out: {plural(found.unseen, 'vote')} on pairs of which neither side was looked at"
        )
    if found.repeated:
        lines.append(
            f"a pair shown twice was answered alike {found.agreed} of {found.repeated} times"
        )
    parts = ["\n".join(lines), *(_answered(one, found.by) for one in found.questions)]
    if found.remarks:
        parts.append("\n".join(("what decided it:", *map(_remark, found.remarks))))
    if found.names:
        parts.append(f"with thanks to {', '.join(one_line(name, 60) for name in found.names)}")
    return "\n\n".join(parts)


def _remark(one: Remark) -> str:
    whose = f"for {one_line(one.trial, 60)}" if one.trial else "no difference"
    return f"  {one_line(one.task, 40)}, {whose}: “{one_line(one.words, 400)}”"


def _answered(one: Answered, by: str) -> str:
    head = (
        f"{one.text}\n{plural(one.n_votes, 'vote')} ({one.n_neither} saw no difference) of "
        f"{plural(one.n_voters, 'voter')} on {plural(one.n_tasks, 'task')}"
    )
    if one.n_same:
        head += f"; {plural(one.n_same, 'vote')} between attempts of one agent: see --by trial"
    if not one.n_votes:
        return "\n".join([head, *_beside_verdicts(one)])
    strengths, adjusted = _by_name(one.strengths), _by_name(one.adjusted)
    tier = {
        name: f"{number}"
        for number, names in enumerate(one.strengths.tiers() if one.strengths else [], 1)
        for name in names
    }
    rows = [
        [tier.get(each.name, ""), one_line(each.name, 70), str(each.won), str(each.lost),
         str(each.neither), strengths.get(each.name, ""), adjusted.get(each.name, "")]
        for each in one.standings
    ]  # fmt: skip
    header = ["tier", by, "won", "lost", "no difference", "log-odds, 95 %", "at equal sway"]
    lines = [head, table(header, rows)]
    if one.refused:
        lines.append(f"no strengths: {one.refused}")
    elif one.is_thin:
        lines.append(_THIN)
    if one.unadjusted and one.unadjusted != one.refused:
        lines.append(f"not at equal sway: {one.unadjusted}")
    leans = [f"{lean.name} {lean.more} of {lean.of}" for lean in one.leans if lean.of]
    if leans:
        lines.append(f"votes for the side that: {', '.join(leans)}")
    for sway in one.adjusted.sways if one.adjusted else ():
        lines.append(
            f"  {sway.name}: {signed(sway.effect)} log-odds ({signed(sway.low)} to "
            f"{signed(sway.high)})"
        )
    return "\n".join([*lines, *_beside_verdicts(one)])


def _beside_verdicts(one: Answered) -> Iterator[str]:
    """What people would rather have, and what was proved: does one agree with the other?"""
    proof = one.proof
    told = f"beside the verdicts: {proof.n_more} of {proof.n} votes went to the side of which more"
    if proof.n and proof.share is not None:
        told += (
            f" was proved, {100 * proof.share:.0f} % ({100 * (proof.low or 0):.0f} to "
            f"{100 * (proof.high or 0):.0f} %; 50 % is no agreement)"
        )
        told += f"; {_THIN}" if one.is_thin and not one.strengths else ""
    elif proof.n:
        told += f" was proved; no interval: {proof.refused}"
    else:
        told = f"beside the verdicts: {proof.refused}"
    yield told
    rows = [
        [one_line(pair.task, 40), _side(pair.more), str(pair.for_more), _side(pair.less),
         str(pair.for_less), str(pair.neither), _agrees(pair)]
        for pair in proof.pairs
    ]  # fmt: skip
    header = ["task", "more was proved of", "votes", "less of", "votes", "neither", ""]
    yield table(header, rows)


def _side(side: Whose) -> str:
    return f"{one_line(side.trial, 60)}: {side.verdict}, {side.passed} of {side.milestones}"


def _agrees(pair: Beside) -> str:
    if pair.is_even:
        return "as much of both"
    return "people part from the proof" if pair.parts else ""


def _by_name(found: Strengths | None) -> dict[str, str]:
    if found is None:
        return {}
    rows = zip(found.names, found.strength, found.low, found.high, strict=True)
    return {
        name: f"{signed(float(value))} ({signed(float(low))} to {signed(float(high))})"
        for name, value, low, high in rows
    }


def as_document(reading: Reading, found: Figures) -> dict[str, Any]:
    """The same for a program; what is not known is null."""
    return {
        "schema": 1,
        "kept": len(reading.kept),
        "rehearsals": len(reading.rehearsals),
        "unlinked": reading.unlinked,
        "left_out": reading.left_out,
        "voters": found.voters,
        "inattentive": found.left_out,
        "unseen": found.unseen,
        "by": found.by,
        "shown_twice": {"alike": found.agreed, "of": found.repeated},
        "remarks": found.remarks,
        "names": found.names,
        "questions": [_question(one) for one in found.questions],
    }


def _question(one: Answered) -> dict[str, Any]:
    return {
        "question": one.question,
        "votes": one.n_votes,
        "of_one_name": one.n_same,
        "no_difference": one.n_neither,
        "voters": one.n_voters,
        "tasks": one.n_tasks,
        "standings": one.standings,
        "strengths": _strengths(one.strengths),
        "refused": one.refused or None,
        "at_equal_sway": _strengths(one.adjusted),
        "not_adjusted": one.unadjusted or None,
        "leans": one.leans,
        "beside_verdicts": one.proof,
        "tiers": one.strengths.tiers() if one.strengths else [],
    }


def _strengths(found: Strengths | None) -> dict[str, Any] | None:
    if found is None:
        return None
    rows = zip(found.names, found.strength, found.low, found.high, strict=True)
    return {
        "of": [{"name": n, "value": float(v), "low": float(a), "high": float(b)}
               for n, v, a, b in rows],
        "level": found.level,
        "sways": found.sways,
    }  # fmt: skip

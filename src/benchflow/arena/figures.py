"""What votes say: strengths with intervals, tiers, and what else swayed them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchflow.analysis.bradley_terry import Strengths, bradley_terry
from benchflow.analysis.estimate import NotEnoughData
from benchflow.arena.make import BY_TOPIC, DOCUMENTS, MADE, SHIP
from benchflow.arena.opened import Opened, opened, sides
from benchflow.arena.pack import Key, Whose
from benchflow.arena.proof import WithProof, with_proof
from benchflow.arena.votes import Vote, Votes
from benchflow.base.numbers import plural

#: Who takes less for half of the pairs has not looked at them.
LEAST_SECONDS_A_PAIR = 5
#: With fewer voters or tasks an interval holds the truth too seldom (docs/analysis.md).
FEW = 8
#: What is counted of a side, by what a vote for the larger amount is called.
_AMOUNTS = {"longer console": "console_lines", "more words": "words", "more files": "files"}
QUESTIONS = {SHIP.id: SHIP.text, MADE.id: MADE.text, DOCUMENTS.id: DOCUMENTS.text}
assert {question.id for question in BY_TOPIC.values()} <= QUESTIONS.keys()


@dataclass(frozen=True)
class Lean:
    """How often votes went to the side that had more of something, of those where one had."""

    name: str
    more: int
    of: int


@dataclass(frozen=True)
class Standing:
    """One name: plain counts, and its strength where there is one."""

    name: str
    won: int
    lost: int
    neither: int


@dataclass(frozen=True)
class Answered:
    """One question. `n_same`: votes between two of one name, which are in nothing else.

    `refused`: why there are no strengths, "" where there are; `unadjusted`: why there are none at
    equal sway, "" where there are. `proof`: the votes beside the verdicts, those of `n_same` too.
    """

    question: str
    text: str
    n_votes: int
    n_same: int
    n_neither: int
    n_voters: int
    n_tasks: int
    standings: tuple[Standing, ...]
    strengths: Strengths | None
    refused: str
    adjusted: Strengths | None
    unadjusted: str
    leans: tuple[Lean, ...]
    proof: WithProof

    @property
    def is_thin(self) -> bool:
        """Whether there are so few voters or tasks that intervals are too narrow."""
        return min(self.n_voters, self.n_tasks) < FEW

    @property
    def too_few(self) -> str:
        """How many are needed before an interval may be published; "" where there are enough."""
        if not self.is_thin:
            return ""
        return (
            f"{plural(self.n_voters, 'voter')} on {plural(self.n_tasks, 'task')}; strengths with "
            f"intervals need {FEW} voters and {FEW} tasks"
        )


@dataclass(frozen=True)
class Remark:
    """What decided a pair, in a voter's words; `trial`: whose side they would ship, "" for neither.
    Hostile."""

    task: str
    trial: str
    words: str


@dataclass(frozen=True)
class Figures:
    """`left_out`: voters whose votes are not counted, by reason; `unseen`: votes of the others on
    pairs that they did not look at, not counted either. `agreed`, `repeated`: answers to a pair
    shown twice, and those that were the same both times. `by`: what is ranked. `names`: given for
    credit."""

    by: str
    voters: int
    left_out: Mapping[str, int]
    unseen: int
    agreed: int
    repeated: int
    questions: tuple[Answered, ...]
    remarks: tuple[Remark, ...]
    names: tuple[str, ...]


def figures(
    found: Iterable[Votes], keys: Mapping[str, Key], by: str = "agent", level: float = 0.95
) -> Figures:
    """All of some votes, each of an arena of which `keys` has the key (by digest). `by`: agent or
    trial; trials are ranked in any case where all are of one agent and model."""
    left_out: Counter[str] = Counter()
    kept: list[Votes] = []
    for votes in found:
        reason = inattentive(votes, keys[votes.pack])
        if reason:
            left_out[reason] += 1
        else:
            kept.append(votes)
    given = [one for votes in kept for one in opened(votes, keys[votes.pack])]
    agents = {side.who for one in given for side in (one.left, one.right)}
    by = by if len(agents) > 1 else "trial"
    again = [_again(votes, keys[votes.pack]) for votes in kept]
    return Figures(
        by=by,
        voters=len({votes.key for votes in kept}),
        left_out=dict(left_out.most_common()),
        unseen=sum(vote.looked == "none" for votes in kept for vote in votes.votes),
        agreed=sum(agreed for agreed, _ in again),
        repeated=sum(of for _, of in again),
        questions=tuple(
            _answered(question, [one for one in given if one.question == question], by, level)
            for question in QUESTIONS
            if any(one.question == question for one in given)
        ),
        remarks=tuple(each for one in kept for each in _remarks(one, keys[one.pack])),
        names=tuple(sorted({votes.name for votes in kept if votes.name})),
    )


def inattentive(votes: Votes, key: Key) -> str:
    """Why somebody's votes say nothing; "" where nothing speaks against them."""
    if median(vote.seconds for vote in votes.votes) < LEAST_SECONDS_A_PAIR:
        return f"looked at half of the pairs for less than {LEAST_SECONDS_A_PAIR} seconds"
    if 2 * sum(vote.looked == "none" for vote in votes.votes) > len(votes.votes):
        return "voted on most pairs without a look at either side"
    for vote in votes.votes:
        if key.pairs[vote.pair].kind != "blank":
            continue
        left, right = sides(vote, votes, key)
        real = left if left.uid else right
        chosen = {q: left if c == "left" else right for q, c in vote.choices.items()
                  if c != "neither"}  # fmt: skip
        if any(not side.uid for side in chosen.values()):
            return "preferred a machine that printed nothing"
        if real.passed and SHIP.id not in chosen:
            return "saw no difference between a machine that works and one that printed nothing"
    return ""


def _remarks(votes: Votes, key: Key) -> Iterable[Remark]:
    for vote in votes.votes:
        meant = key.pairs[vote.pair]
        if meant.kind == "real" and vote.looked != "none" and vote.remark.strip():
            left, right = sides(vote, votes, key)
            chosen = {"left": left.trial, "right": right.trial}.get(vote.choices[SHIP.id], "")
            yield Remark(meant.task, chosen, vote.remark.strip())


def _again(votes: Votes, key: Key) -> tuple[int, int]:
    """Of the answers to pairs shown twice: the same both times, and how many there are."""
    by_pair = {vote.pair: vote for vote in votes.votes}
    agreed = of = 0
    for vote in votes.votes:
        first = by_pair.get(key.pairs[vote.pair].of)
        if first is None or "none" in (vote.looked, first.looked):
            continue
        for question in vote.choices.keys() & first.choices.keys():
            of += 1
            agreed += _uid(vote, votes, key, question) == _uid(first, votes, key, question)
    return agreed, of


def _uid(vote: Vote, votes: Votes, key: Key, question: str) -> str:
    left, right = sides(vote, votes, key)
    return {"left": left.uid, "right": right.uid, "neither": ""}[vote.choices[question]]


def _answered(question: str, found: Sequence[Opened], by: str, level: float) -> Answered:
    name = _trial if by == "trial" else _agent
    compared = [one for one in found if name(one.left) != name(one.right)]
    decided = [one for one in compared if one.winner and one.loser]
    winners = [name(one.winner) for one in decided if one.winner]
    losers = [name(one.loser) for one in decided if one.loser]
    voters, tasks = [one.voter for one in decided], [one.task for one in decided]
    sways = _sways(decided)
    strengths, refused = _tried(winners, losers, voters, tasks, {}, level)
    adjusted, unadjusted = _tried(winners, losers, voters, tasks, sways, level)
    neither = Counter(name(s) for one in compared if not one.winner for s in (one.left, one.right))
    won, lost = Counter(winners), Counter(losers)
    return Answered(
        question=question,
        text=QUESTIONS[question],
        n_votes=len(compared),
        n_same=len(found) - len(compared),
        n_neither=len(compared) - len(decided),
        n_voters=len({one.voter for one in compared}),
        n_tasks=len({one.task for one in compared}),
        standings=tuple(
            Standing(each, won[each], lost[each], neither[each])
            for each in sorted({*won, *lost, *neither}, key=lambda one: (lost[one] - won[one], one))
        ),
        strengths=strengths,
        refused=refused,
        adjusted=adjusted,
        unadjusted=unadjusted,
        leans=tuple(_lean(label, amounts) for label, amounts in sways.items()),
        proof=with_proof(found, level),
    )


def _tried(
    winners: list[str], losers: list[str], voters: list[str], tasks: list[str],
    sways: dict[str, list[float]], level: float,
) -> tuple[Strengths | None, str]:  # fmt: skip
    try:
        return bradley_terry(winners, losers, voters, tasks, level, sways), ""
    except NotEnoughData as error:
        return None, str(error)


def _agent(side: Whose) -> str:
    return side.who


def _trial(side: Whose) -> str:
    return side.trial


def _sways(decided: Sequence[Opened]) -> dict[str, list[float]]:
    """Of each vote: how much more the winner had. Amounts as logarithms, so that 1 more is e times
    as much; what is not known of some, or the same for all, is left out."""
    found: dict[str, list[float]] = {}
    pairs = [(one.winner, one.loser) for one in decided if one.winner and one.loser]
    found["stood left"] = [1.0 if one.winner is one.left else -1.0 for one in decided]
    for label, field in _AMOUNTS.items():
        amounts = [(getattr(a.counted, field), getattr(b.counted, field)) for a, b in pairs]
        if any(None in two for two in amounts) or all(a == b for a, b in amounts):
            continue
        found[label] = [math.log1p(a) - math.log1p(b) for a, b in amounts]
    return found


def _lean(name: str, amounts: Sequence[float]) -> Lean:
    return Lean(name, sum(value > 0 for value in amounts), sum(value != 0 for value in amounts))

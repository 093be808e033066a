"""Votes beside verdicts: whether people would rather have that of which more was proved.

A ladder says how far a deliverable came in checks that its voters never see. Where a vote and the
ladders part, either the voter cannot see what the check saw, or the check proves what nobody wants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchflow.analysis.bradley_terry import bradley_terry
from benchflow.analysis.estimate import NotEnoughData
from benchflow.arena.opened import Opened
from benchflow.arena.pack import Whose

_MORE, _LESS = "more", "less"


@dataclass(frozen=True)
class Beside:
    """One pair of trials: of `more` no less was proved than of `less`, and how people voted."""

    task: str
    more: Whose
    less: Whose
    for_more: int
    for_less: int
    neither: int

    @property
    def is_even(self) -> bool:
        """Whether as much was proved of the one as of the other."""
        return _proved(self.more) == _proved(self.less)

    @property
    def parts(self) -> bool:
        """Whether most people would rather have that of which less was proved."""
        return not self.is_even and self.for_less > self.for_more


@dataclass(frozen=True)
class WithProof:
    """Votes of one question on pairs of which more was proved of one side; `n_even`: votes on other
    pairs, `n_neither`: votes for neither side.

    `share` of the votes went to the side of which more was proved, with an interval clustered by
    voter and task; None where `refused` says why there is none.
    """

    n_more: int
    n: int
    n_even: int
    n_neither: int
    share: float | None
    low: float | None
    high: float | None
    refused: str
    pairs: tuple[Beside, ...]


def with_proof(found: Sequence[Opened], level: float = 0.95) -> WithProof:
    """All votes of one question, set against the verdicts."""
    pairs = tuple(_beside(found))
    apart = [one for one in found if _proved(one.left) != _proved(one.right)]
    decided = [(one, one.winner, one.loser) for one in apart if one.winner and one.loser]
    won_more = [_proved(winner) > _proved(loser) for _, winner, loser in decided]
    share, low, high, refused = _share(
        won_more, [one.voter for one, _, _ in decided], [one.task for one, _, _ in decided], level
    )
    return WithProof(
        n_more=sum(won_more),
        n=len(decided),
        n_even=len(found) - len(apart),
        n_neither=len(apart) - len(decided),
        share=share,
        low=low,
        high=high,
        refused=refused,
        pairs=pairs,
    )


def _share(
    won_more: Sequence[bool], voters: Sequence[str], tasks: Sequence[str], level: float
) -> tuple[float | None, float | None, float | None, str]:
    """Two names, the side of which more was proved and the other: their strengths are the share."""
    if not won_more:
        return None, None, None, "no pair of which more was proved of one side was decided"
    winners = [_MORE if is_more else _LESS for is_more in won_more]
    losers = [_LESS if is_more else _MORE for is_more in won_more]
    try:
        found = bradley_terry(winners, losers, voters, tasks, level)
    except NotEnoughData as error:
        if len(set(winners)) < 2:
            return None, None, None, "all votes went to one of the two"
        return None, None, None, str(error)
    at = found.names.index(_MORE)
    # Strengths sum to zero, so half of the log-odds between the two.
    odds = (found.strength[at], found.low[at], found.high[at])
    share, low, high = (1 / (1 + math.exp(-2 * float(one))) for one in odds)
    return share, low, high, ""


def _beside(found: Sequence[Opened]) -> Iterable[Beside]:
    pairs: dict[frozenset[str], list[Opened]] = {}
    for one in found:
        pairs.setdefault(frozenset((one.left.uid, one.right.uid)), []).append(one)
    for votes in pairs.values():
        more, less = sorted((votes[0].left, votes[0].right), key=_proved, reverse=True)
        chosen = Counter(one.winner.uid if one.winner else "" for one in votes)
        yield Beside(votes[0].task, more, less, chosen[more.uid], chosen[less.uid], chosen[""])


def _proved(side: Whose) -> float:
    return side.passed / side.milestones if side.milestones else 0.0

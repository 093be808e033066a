"""Answers of voters with the key at hand: who won, and against whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchflow.arena.pack import Key, Whose
from benchflow.arena.votes import Vote, Votes


@dataclass(frozen=True)
class Opened:
    """One answer with its pair opened. `winner` and `loser` are None where there was neither."""

    question: str
    voter: str
    task: str
    left: Whose
    right: Whose
    winner: Whose | None
    loser: Whose | None


def sides(vote: Vote, votes: Votes, key: Key) -> tuple[Whose, Whose]:
    """Whose stood left, and whose right."""
    return key.sides[vote.left], key.sides[key.other(vote.pair, vote.left)]


def opened(votes: Votes, key: Key) -> Iterable[Opened]:
    """All answers of one voter to pairs that check no attention, and that they looked at."""
    for vote in votes.votes:
        meant = key.pairs[vote.pair]
        if meant.kind != "real" or vote.looked == "none":
            continue
        left, right = sides(vote, votes, key)
        for question, choice in vote.choices.items():
            winner = {"left": left, "right": right}.get(choice)
            loser = None if winner is None else right if winner is left else left
            yield Opened(question, votes.key, meant.task, left, right, winner, loser)

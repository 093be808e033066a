"""From trials to statements: rates with both kinds of ±, tiers, and which differences hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchflow.analysis.compare import Comparison, Need, all_pairs, needed, paired, tiers
from benchflow.analysis.estimate import NotEnoughData, Outcomes
from benchflow.analysis.rates import Rate, rate
from benchflow.errors import UsageError
from benchflow.results.records import Collection
from benchflow.study.arrays import Trials
from benchflow.study.as_json import dumped

_NO_RATE = dict.fromkeys(("total", "rerun_only", "noise", "plus_minus"))


@dataclass(frozen=True)
class Entry:
    """One agent and model. `rate` is None below two tasks. `tier` counts from 1, the best; None for
    all where nobody is ranked."""

    who: str
    tier: int | None
    outcomes: Outcomes
    rate: Rate | None

    @property
    def share(self) -> float:
        """Resolved trials over all that count."""
        return float(self.outcomes.successes.sum() / self.outcomes.n_trials)


@dataclass(frozen=True)
class Pair:
    """Two entries compared over their common tasks; `need` is None where it cannot be told."""

    a: str
    b: str
    comparison: Comparison
    need: Need | None


@dataclass(frozen=True)
class Summary:
    """Entries best first; pairs in that order; `unknown`: those with errors alone."""

    entries: tuple[Entry, ...]
    pairs: tuple[Pair, ...]
    n_trials: int
    n_errors: int
    n_tasks: int
    unknown: tuple[str, ...]
    level: float

    @property
    def ranked(self) -> bool:
        """Whether any order is made of the entries."""
        return any(entry.tier is not None for entry in self.entries)

    @property
    def alone(self) -> tuple[str, ...]:
        """Those who share two tasks or more with nobody else."""
        compared = {name for pair in self.pairs for name in (pair.a, pair.b)}
        return tuple(entry.who for entry in self.entries if entry.who not in compared)


def summarize(table: Collection, level: float = 0.95) -> Summary:
    """Raises UsageError when there is no trial that counts."""
    return summarize_trials(Trials.of(table.records), level)


def summarize_trials(trials: Trials, level: float = 0.95) -> Summary:
    """The same from `Trials`."""
    if not trials.records:
        raise UsageError("no finished trial that counts", hint="see benchflow results")
    outcomes = trials.outcomes
    compared = all_pairs(outcomes, level)
    tier_of: dict[str, int] = {}
    # Tiers are a statement about all that stand in them: who shares too few tasks has none.
    ranked = {who: outcomes[who] for who in comparable([*outcomes], [*compared])}
    if len(ranked) > 1 or len(outcomes) == 1:
        among = {pair: one for pair, one in compared.items() if ranked.keys() >= {*pair}}
        found = tiers(ranked, level, among)
        # One tier of a part of them orders nobody, and a 1 beside its members alone reads as best.
        if len(found) > 1 or len(ranked) == len(outcomes):
            for number, tier in enumerate(found, 1):
                tier_of.update(dict.fromkeys(tier, number))
    return Summary(
        entries=tuple(
            Entry(who, tier_of.get(who), one, _rate(one, level)) for who, one in outcomes.items()
        ),
        pairs=tuple(
            Pair(a, b, comparison, _need(outcomes[a], outcomes[b], level))
            for (a, b), comparison in compared.items()
        ),
        n_trials=len(trials.records),
        n_errors=trials.n_errors,
        n_tasks=trials.n_tasks,
        unknown=tuple(sorted(name for name in trials.errors if name not in outcomes)),
        level=level,
    )


def comparable(names: list[str], pairs: list[tuple[str, str]]) -> list[str]:
    """Those of `names` of whom each two are a pair: the worst connected is left out, the last named
    of several, until it is so."""
    left = [*names]
    linked = {frozenset(pair) for pair in pairs}
    while True:
        degree = {a: sum(frozenset((a, b)) in linked for b in left if b != a) for a in left}
        if all(n == len(left) - 1 for n in degree.values()):
            return left
        fewest = min(degree.values())
        left.remove(next(name for name in reversed(left) if degree[name] == fewest))


def compare(table: Collection, a: str, b: str, level: float = 0.95) -> Pair:
    """The one pair, uncorrected. Raises UsageError for names that are not there or share too few
    tasks."""
    outcomes = Trials.of(table.records).outcomes
    for name in (a, b):
        if name not in outcomes:
            raise UsageError(f"no {name!r} here", hint=f"here are: {', '.join(sorted(outcomes))}")
    if a == b:
        raise UsageError(f"{a!r} is compared with itself", hint="name two")
    try:
        comparison = paired(outcomes[a], outcomes[b], level)
    except NotEnoughData as error:
        raise UsageError(str(error)) from error
    return Pair(a, b, comparison, _need(outcomes[a], outcomes[b], level))


def to_json(summary: Summary) -> dict[str, Any]:
    """The summary as JSON: shares in 0…1, `tier` from 1, `plus_minus` in shares."""
    return {
        "schema": 1,
        "level": summary.level,
        "n_trials": summary.n_trials,
        "n_errors": summary.n_errors,
        "n_tasks": summary.n_tasks,
        "unknown": list(summary.unknown),
        "entries": [
            {
                "who": entry.who,
                "tier": entry.tier,
                "share": entry.share,
                "n_errors": entry.outcomes.errors,
                **(dumped(entry.rate) if entry.rate else _NO_RATE),
            }
            for entry in summary.entries
        ],
        "pairs": [pair_json(pair) for pair in summary.pairs],
    }


def pair_json(pair: Pair) -> dict[str, Any]:
    """One comparison as JSON; differences are a minus b, in shares."""
    return {
        "a": pair.a,
        "b": pair.b,
        **dumped(pair.comparison),
        "decided": pair.comparison.decided,
        "need": dumped(pair.need),
    }


def _rate(outcomes: Outcomes, level: float) -> Rate | None:
    return rate(outcomes, level) if len(set(outcomes.units)) >= 2 else None


def _need(a: Outcomes, b: Outcomes, level: float) -> Need | None:
    try:
        return needed(a, b, level)
    except NotEnoughData:
        return None

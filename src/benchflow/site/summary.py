"""From trials to statements: rates with both kinds of ±, tiers, and which differences hold."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchflow.analysis.compare import Comparison, Need, all_pairs, needed, paired, tiers
from benchflow.analysis.estimate import NotEnoughData, Outcomes
from benchflow.analysis.rates import Rate, rate
from benchflow.errors import UsageError
from benchflow.results.model import Verdict
from benchflow.results.records import Collection, Record


@dataclass(frozen=True)
class Entry:
    """One agent and model. `rate` is None below two tasks. `tier` counts from 1, the best."""

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


def summarize(table: Collection, level: float = 0.95) -> Summary:
    """Raises UsageError when there is no trial that counts."""
    outcomes = outcomes_of(table.records)
    if not outcomes:
        raise UsageError("no finished trial that counts", hint="see benchflow results")
    order = sorted(outcomes, key=lambda who: (-_share(outcomes[who]), who))
    comparable = {who: outcomes[who] for who in order}
    pairs: list[Pair] = []
    tier_of: dict[str, int] = {}
    try:
        compared = all_pairs(comparable, level)
        for number, tier in enumerate(tiers(comparable, level), 1):
            tier_of.update(dict.fromkeys(tier, number))
        for (a, b), comparison in compared.items():
            pairs.append(Pair(a, b, comparison, _need(outcomes[a], outcomes[b], level)))
    except NotEnoughData:
        pass  # some two share fewer than two tasks: no tiers, and the pairs stay empty
    named = {record.who for record in table.records}
    return Summary(
        entries=tuple(
            Entry(who, tier_of.get(who), outcomes[who], _rate(outcomes[who], level))
            for who in order
        ),
        pairs=tuple(pairs),
        n_trials=sum(one.n_trials for one in outcomes.values()),
        n_errors=sum(record.verdict is Verdict.ERROR for record in table.records),
        n_tasks=len({record.task for record in table.records}),
        unknown=tuple(sorted(named - set(outcomes))),
        level=level,
    )


def compare(table: Collection, a: str, b: str, level: float = 0.95) -> Pair:
    """The one pair, uncorrected. Raises UsageError for names that are not there or share too few
    tasks."""
    outcomes = outcomes_of(table.records)
    for name in (a, b):
        if name not in outcomes:
            raise UsageError(f"no {name!r} here", hint=f"here are: {', '.join(sorted(outcomes))}")
    try:
        comparison = paired(outcomes[a], outcomes[b], level)
    except NotEnoughData as error:
        raise UsageError(str(error)) from error
    return Pair(a, b, comparison, _need(outcomes[a], outcomes[b], level))


def outcomes_of(records: tuple[Record, ...]) -> dict[str, Outcomes]:
    """Per agent and model: successes over trials by task; errors are counted apart."""
    grouped: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    errors: dict[str, int] = defaultdict(int)
    for record in records:
        if record.verdict is Verdict.ERROR:
            errors[record.who] += 1
        else:
            grouped[record.who][record.task].append(record.verdict is Verdict.RESOLVED)
    return {
        who: Outcomes(
            tuple(tasks),
            np.array([sum(results) for results in tasks.values()]),
            np.array([len(results) for results in tasks.values()]),
            errors[who],
        )
        for who, tasks in grouped.items()
    }


def to_json(summary: Summary) -> dict[str, Any]:
    """The summary as JSON: shares in 0…1, `tier` from 1."""
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
                "total": asdict(entry.rate.total) if entry.rate else None,
                "rerun_only": asdict(entry.rate.rerun_only)
                if entry.rate and entry.rate.rerun_only
                else None,
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
        **asdict(pair.comparison),
        "decided": pair.comparison.decided,
        "need": asdict(pair.need) if pair.need else None,
    }


def _share(outcomes: Outcomes) -> float:
    return float(outcomes.successes.sum() / outcomes.n_trials)


def _rate(outcomes: Outcomes, level: float) -> Rate | None:
    return rate(outcomes, level) if len(outcomes.tasks) >= 2 else None


def _need(a: Outcomes, b: Outcomes, level: float) -> Need | None:
    try:
        return needed(a, b, level)
    except NotEnoughData:
        return None

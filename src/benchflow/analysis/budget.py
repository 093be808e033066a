"""Scores under smaller budgets, and who is on the front of score against cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchflow.analysis.cluster import labels, plain_interval, ratio
from benchflow.analysis.estimate import Basis, Estimate, Floats, Ints, NotEnoughData, Outcomes
from benchflow.analysis.rates import rate


@dataclass(frozen=True)
class Budgeted:
    """Success rate under each budget of `at` (minutes, tokens or dollars), recomputed from logs.

    `unknown`: successes whose spending was not recorded; they count as beyond every budget.
    """

    at: Floats
    rates: tuple[Estimate, ...]
    unknown: int


#: Beyond this share of successes without a record, a curve would show the records, not the agent.
MOST_UNKNOWN = 0.05


def budgeted(
    spent: Floats,
    resolved: np.ndarray,
    tasks: Sequence[str],
    at: Floats,
    units: Sequence[str] | None = None,
    level: float = 0.95,
    errors: int = 0,
) -> Budgeted:
    """Scores had every trial been cut at smaller budgets; `spent` is NaN where not recorded.

    A failure stays a failure whatever it spent, so only successes need a record. An agent that had
    known of the smaller budget might have worked otherwise: this is the score of the work as it
    went. Raises NotEnoughData below two tasks, or when more than MOST_UNKNOWN of the successes
    have no record.
    """
    spent, won = np.asarray(spent, float), np.asarray(resolved, dtype=bool)
    unknown = int((np.isnan(spent) & won).sum())
    if unknown > MOST_UNKNOWN * max(int(won.sum()), 1):
        raise NotEnoughData(f"{unknown} of {won.sum()} successes have no record of what they spent")
    known = np.where(np.isnan(spent), np.inf, spent)
    names, index = labels(tasks)
    generators = _generators(names, tasks, units)
    rates = [
        _rate(won & (known <= budget), names, index, generators, level, errors)
        for budget in np.asarray(at, float)
    ]
    return Budgeted(np.asarray(at, float), tuple(rates), unknown)


def rate_within(
    spent: Floats,
    resolved: np.ndarray,
    tasks: Sequence[str],
    budget: float,
    level: float = 0.95,
    units: Sequence[str] | None = None,
    errors: int = 0,
) -> Estimate:
    """Success rate had every trial been cut at `budget` (minutes, tokens or dollars).

    `spent` is what a trial had used when it succeeded or ended; a success that took more counts
    as a failure. The denominator is always all trials. Raises NotEnoughData below two tasks.
    """
    won = np.asarray(resolved, dtype=bool) & (np.asarray(spent, float) <= budget)
    names, index = labels(tasks)
    return _rate(won, names, index, _generators(names, tasks, units), level, errors)


def _generators(
    names: Sequence[str], tasks: Sequence[str], units: Sequence[str] | None
) -> tuple[str, ...]:
    generator = dict(zip(tasks, units, strict=True)) if units else {}
    return tuple(generator[name] for name in names) if units else ()


def _rate(
    won: np.ndarray,
    names: tuple[str, ...],
    index: Ints,
    generators: tuple[str, ...],
    level: float,
    errors: int,
) -> Estimate:
    successes = np.bincount(index, weights=won, minlength=len(names)).astype(np.int64)
    trials = np.bincount(index, minlength=len(names))
    return rate(Outcomes(names, successes, trials, errors, generators), level).total


@dataclass(frozen=True)
class Front:
    """`on_front`: nobody is both cheaper and better. `chance`: how often so over redrawn tasks.
    `low`, `high`: the interval of `score`, over these tasks as all else here."""

    names: tuple[str, ...]
    score: Floats
    low: Floats
    high: Floats
    cost: Floats
    on_front: tuple[bool, ...]
    chance: Floats
    basis: Basis


def pareto(
    shares: Mapping[str, Floats],
    costs: Mapping[str, Floats],
    draws: int = 2000,
    seed: int = 0,
    *,
    units: Sequence[str] | None = None,
    level: float = 0.95,
    n_trials: int = 0,
    errors: int = 0,
) -> Front:
    """The front of mean share against mean cost, both per task over the same tasks.

    Whole `units` (generators; default: tasks) are redrawn, the same for all, so that what models
    have in common stays in common. Raises NotEnoughData below two tasks or units, ValueError when
    the names or lengths differ.
    """
    if set(shares) != set(costs):
        raise ValueError("shares and costs name different models")
    names = tuple(shares)
    score = np.array([shares[name] for name in names], dtype=float)
    cost = np.array([costs[name] for name in names], dtype=float)
    if score.shape != cost.shape:
        raise ValueError("shares and costs are over different tasks")
    n_tasks = score.shape[1]
    if n_tasks < 2:
        raise NotEnoughData("redrawing tasks needs two or more")
    unit = labels(units)[1] if units else np.arange(n_tasks)
    n_units = int(unit.max()) + 1
    picks = np.random.default_rng(seed).multinomial(
        n_units, np.full(n_units, 1 / n_units), size=draws
    )
    weight = picks[:, unit] / picks[:, unit].sum(axis=1, keepdims=True)
    drawn = _front(weight @ score.T, weight @ cost.T)
    names_of = list(units) if units else [str(place) for place in range(n_tasks)]
    ends = [plain_interval(ratio(row, np.ones(n_tasks), names_of), level) for row in score]
    on_front = _front(score.mean(axis=1)[None, :], cost.mean(axis=1)[None, :])[0]
    return Front(
        names=names,
        score=score.mean(axis=1),
        low=np.array([low for low, _ in ends]),
        high=np.array([high for _, high in ends]),
        cost=cost.mean(axis=1),
        on_front=tuple(bool(value) for value in on_front),
        chance=drawn.mean(axis=0),
        basis=Basis(n_tasks, n_trials, errors, f"{draws} redraws of {n_units} units", seed),
    )


def _front(score: Floats, cost: Floats) -> np.ndarray:
    """Rows are draws: True where no other is at least as good and as cheap, and better in one."""
    as_good = score[:, None, :] >= score[:, :, None]
    as_cheap = cost[:, None, :] <= cost[:, :, None]
    better = (score[:, None, :] > score[:, :, None]) | (cost[:, None, :] < cost[:, :, None])
    beaten = (as_good & as_cheap & better).any(axis=2)
    kept: np.ndarray = ~beaten
    return kept

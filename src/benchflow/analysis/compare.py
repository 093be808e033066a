"""Who is better than whom: paired by task, corrected for how many were compared, as tiers."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import stats

from benchflow.analysis.cluster import Ratio, labels, ratio, unseen
from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData, Outcomes


@dataclass(frozen=True)
class Comparison:
    """A minus B over the tasks that both ran, in shares (0…1).

    `p`: two-sided paired t test. `p_sign_flip`: the same question by flipping the signs of the
    task differences, which assumes no normality. `p_corrected`: Holm over all pairs compared
    together; equal to `p` for a single comparison. `smallest_detectable`: the true difference
    that data like these would have called different in 80 % of draws, uncorrected.
    """

    difference: Estimate
    p: float
    p_sign_flip: float
    p_corrected: float
    smallest_detectable: float

    @property
    def decided(self) -> bool:
        """Whether the data supports a difference at the interval's level, after correction."""
        return self.p_corrected < 1 - self.difference.level


@dataclass(frozen=True)
class Need:
    """What would separate two at the observed difference with the power asked for.

    `tasks`: number of tasks at today's attempts each (None: no difference was seen).
    `attempts`: attempts a task at today's tasks; None when no number of attempts can do it.
    """

    tasks: int | None
    attempts: int | None


def paired(
    a: Outcomes, b: Outcomes, level: float = 0.95, draws: int = 10000, seed: int = 0
) -> Comparison:
    """Compares two over their common tasks, each task weighing the same.

    Raises NotEnoughData below two common tasks.
    """
    differences, units, n_trials = _differences(a, b)
    found = ratio(differences, np.ones(len(differences)), units)
    low, high, p, detectable = _judge(found, level)
    estimate = Estimate(
        value=found.value,
        low=low,
        high=high,
        level=level,
        n_tasks=len(differences),
        n_trials=n_trials,
        n_errors=a.errors + b.errors,
        method=f"paired t over common {'generators' if a.generators else 'tasks'}",
        seed=seed,
    )
    return Comparison(
        difference=estimate,
        p=p,
        p_sign_flip=_sign_flip(differences, units, draws, seed),
        p_corrected=p,
        smallest_detectable=detectable,
    )


def all_pairs(
    table: Mapping[str, Outcomes], level: float = 0.95, draws: int = 10000, seed: int = 0
) -> dict[tuple[str, str], Comparison]:
    """Every pair of `table` in its order that can be compared, with Holm's correction over all.

    Pairs with fewer than two common tasks are not in it: nothing can be said of them.
    """
    plain: dict[tuple[str, str], Comparison] = {}
    for one, other in itertools.combinations(table, 2):
        with contextlib.suppress(NotEnoughData):
            plain[one, other] = paired(table[one], table[other], level, draws, seed)
    corrected = holm([c.p for c in plain.values()])
    return {
        pair: replace(c, p_corrected=value)
        for (pair, c), value in zip(plain.items(), corrected, strict=True)
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down corrected p values, in the order given (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, running = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        running = max(running, (len(p_values) - rank) * p_values[index])
        corrected[index] = min(1.0, running)
    return corrected


def tiers(
    table: Mapping[str, Outcomes],
    level: float = 0.95,
    comparisons: Mapping[tuple[str, str], Comparison] | None = None,
) -> list[list[str]]:
    """Names in tiers, best first: a tier holds all that its best member is not shown to beat.

    Within a tier the order says nothing. The best of a tier is the one with the highest mean over
    tasks; a member of a lower tier is beaten, after Holm's correction over all pairs, by the best
    of the tier above. `comparisons`: those of `all_pairs` where they are already known.

    Empty where no such order holds: a pair is compared over its common tasks and ranked over its
    own, so somebody may be shown to beat one that stands in a higher tier, or leads its own.
    """
    if comparisons is None:
        comparisons = all_pairs(table, level)
    beaten = {
        (a, b) if comparison.difference.value > 0 else (b, a)
        for (a, b), comparison in comparisons.items()
        if comparison.decided
    }
    ranked = sorted(table, key=lambda name: (-float(table[name].shares.mean()), name))
    return tiers_of(ranked, beaten)


def tiers_of(ranked: Sequence[str], beaten: Set[tuple[str, str]]) -> list[list[str]]:
    """The same from names, best first, and pairs (winner, loser) that are shown, Holm's correction
    included; empty where a loser would stand above its winner, or lead the tier of both."""
    left = list(ranked)
    found: list[list[str]] = []
    while left:
        best = left[0]
        tier = [best]
        for other in left[1:]:
            if (best, other) not in beaten:
                tier.append(other)
        found.append(tier)
        left = [name for name in left if name not in tier]
    level_of = {name: number for number, tier in enumerate(found) for name in tier}
    leaders = {tier[0] for tier in found}
    for winner, loser in beaten:
        below = level_of[winner] - level_of[loser]
        if below > 0 or (below == 0 and loser in leaders):
            return []
    return found


def smallest_detectable(
    error: float, n_units: int, level: float = 0.95, power: float = 0.8
) -> float:
    """The difference that a paired t test with standard error `error` finds with `power`.

    (t_{(1+level)/2} + t_{power}) · error on n_tasks - 1 degrees of freedom (Bloom 1995).
    """
    freedom = n_units - 1
    return float((stats.t.ppf((1 + level) / 2, freedom) + stats.t.ppf(power, freedom)) * error)


def needed(a: Outcomes, b: Outcomes, level: float = 0.95, power: float = 0.8) -> Need:
    """How many tasks, or how many attempts a task, would separate the two as they now look.

    The variance of a task's difference is split into re-run noise (falls with attempts) and what
    stays between tasks. Where tasks share generators, `tasks` means more generators of that size.
    The observed difference stands for the true one, which it seldom equals: an order of magnitude.
    Raises NotEnoughData below two common tasks or without repeated trials.
    """
    differences, units, _ = _differences(a, b)
    n_tasks, found = len(differences), ratio(differences, np.ones(len(differences)), units)
    mean = abs(found.value)
    if mean == 0:
        return Need(tasks=None, attempts=None)
    factor = float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power))
    variance = found.error**2 * n_tasks
    tasks = max(2, math.ceil((factor / mean) ** 2 * variance))
    first, second = _rerun(a, set(b.tasks)), _rerun(b, set(a.tasks))
    noise = float((first[0] / first[1]).mean() + (second[0] / second[1]).mean())
    single = float(first[0].mean() + second[0].mean())
    between = max(variance - noise, 0.0)
    room = n_tasks * (mean / factor) ** 2 - between
    attempts = math.ceil(single / room) if room > 0 else None
    return Need(tasks=tasks, attempts=max(1, attempts) if attempts is not None else None)


def _differences(a: Outcomes, b: Outcomes) -> tuple[Floats, list[str], int]:
    at_a = {task: i for i, task in enumerate(a.tasks)}
    at_b = {task: i for i, task in enumerate(b.tasks)}
    common = [task for task in a.tasks if task in at_b]
    if len(common) < 2:
        raise NotEnoughData("a paired comparison needs two common tasks or more")
    of_a = np.array([at_a[task] for task in common])
    of_b = np.array([at_b[task] for task in common])
    differences: Floats = a.shares[of_a] - b.shares[of_b]
    units = [a.units[i] for i in of_a]
    return differences, units, int(a.trials[of_a].sum() + b.trials[of_b].sum())


def _rerun(outcomes: Outcomes, others: set[str]) -> tuple[Floats, Floats]:
    """Per common task: the variance of one trial (unbiased) and the number of trials."""
    common = np.array([task in others for task in outcomes.tasks])
    trials = outcomes.trials[common].astype(float)
    share = outcomes.shares[common]
    repeated = trials > 1
    if not repeated.any():
        raise NotEnoughData("without repeated trials the re-run noise cannot be told apart")
    variance = share * (1 - share) * trials / np.maximum(trials - 1, 1)
    variance[~repeated] = variance[repeated].mean()
    return variance, trials


def _judge(found: Ratio, level: float) -> tuple[float, float, float, float]:
    """Low, high, p and the smallest detectable difference.

    Where every unit differs by exactly the same there is no spread for a t test. Then as large a
    share of all units as such a sample can have missed (`unseen`) may differ by anything, and p is
    that of flipping signs.
    """
    if found.error > 0:
        half = found.half_width(level)
        p = float(2 * stats.t.sf(abs(found.value / found.error), found.freedom))
        detectable = smallest_detectable(found.error, found.n_clusters, level)
        return found.value - half, found.value + half, p, detectable
    missed = unseen(found.n_clusters, level)
    kept = found.value * (1 - missed)
    p = 1.0 if found.value == 0 else min(1.0, 2 * 0.5**found.n_clusters)
    return kept - missed, kept + missed, p, missed


def _sign_flip(differences: Floats, units: Sequence[str], draws: int, seed: int) -> float:
    """Monte Carlo p value with the observed draw counted in (Phipson and Smyth 2010)."""
    summed = np.bincount(labels(units)[1], weights=differences)
    sums = np.abs(_signs(len(summed), draws, seed) @ summed)
    # Equal sums may differ in the last bit: what ties with the observed counts as extreme.
    as_far = int((sums >= abs(float(summed.sum())) - 1e-9).sum())
    return (as_far + 1) / (draws + 1)


@lru_cache(maxsize=2)
def _signs(n_units: int, draws: int, seed: int) -> Floats:
    """The same for all pairs over as many units: drawing them costs more than the sums."""
    drawn: Floats = np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), size=(draws, n_units))
    return drawn

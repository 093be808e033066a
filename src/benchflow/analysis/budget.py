"""Scores under smaller budgets, and who is on the front of score against cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData, Outcomes
from benchflow.analysis.rates import rate


def rate_within(
    spent: Floats, resolved: np.ndarray, tasks: Sequence[str], budget: float, level: float = 0.95
) -> Estimate:
    """Success rate had every trial been cut at `budget` (minutes, tokens or dollars).

    `spent` is what a trial had used when it succeeded or ended; a success that took more counts
    as a failure. The denominator is always all trials. Raises NotEnoughData below two tasks.
    """
    won = np.asarray(resolved, dtype=bool) & (np.asarray(spent, float) <= budget)
    names, index = np.unique(np.asarray(tasks), return_inverse=True)
    return rate(
        Outcomes(
            tuple(str(name) for name in names),
            np.bincount(index, weights=won, minlength=len(names)).astype(np.int64),
            np.bincount(index, minlength=len(names)),
        ),
        level,
    ).total


@dataclass(frozen=True)
class Front:
    """`on_front`: nobody is both cheaper and better. `chance`: how often so over redrawn tasks."""

    names: tuple[str, ...]
    score: Floats
    cost: Floats
    on_front: tuple[bool, ...]
    chance: Floats
    draws: int
    seed: int


def pareto(
    shares: Mapping[str, Floats], costs: Mapping[str, Floats], draws: int = 2000, seed: int = 0
) -> Front:
    """The front of mean share against mean cost, both per task over the same tasks.

    Raises NotEnoughData below two tasks, ValueError when the names or lengths differ.
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
    picks = np.random.default_rng(seed).integers(0, n_tasks, size=(draws, n_tasks))
    drawn = _front(score[:, picks].mean(axis=2).T, cost[:, picks].mean(axis=2).T)
    on_front = _front(score.mean(axis=1)[None, :], cost.mean(axis=1)[None, :])[0]
    return Front(
        names=names,
        score=score.mean(axis=1),
        cost=cost.mean(axis=1),
        on_front=tuple(bool(value) for value in on_front),
        chance=drawn.mean(axis=0),
        draws=draws,
        seed=seed,
    )


def _front(score: Floats, cost: Floats) -> np.ndarray:
    """Rows are draws: True where no other is at least as good and as cheap, and better in one."""
    as_good = score[:, None, :] >= score[:, :, None]
    as_cheap = cost[:, None, :] <= cost[:, :, None]
    better = (score[:, None, :] > score[:, :, None]) | (cost[:, None, :] < cost[:, :, None])
    beaten = (as_good & as_cheap & better).any(axis=2)
    kept: np.ndarray = ~beaten
    return kept

"""Who is good at what: model × skill effects, pulled together as far as the data asks for.

A model's effect at a skill is how much better it does on that skill's tasks than its own general
level and the tasks' difficulty predict. With few tasks a skill such differences are mostly noise:
they are shrunk towards 0 by the spread that the data shows beyond its noise (the normal-normal
hierarchical model of Rubin 1981, the spread integrated out over a flat prior on a grid, so that
not knowing it widens the intervals), and those whose interval holds 0 are *undecided*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchflow.analysis.compare import holm
from benchflow.analysis.estimate import Basis, Floats, NotEnoughData


@dataclass(frozen=True)
class SkillEffects:
    """Arrays of shape (models, skills), in shares: `raw`, `effect` (shrunk), `low`, `high`.

    `n_tasks` per skill. NaN where a skill has fewer than two tasks with it or without it.
    `spread`: posterior mean of the standard deviation of true effects over all cells. `p`: of the
    unshrunk effects, normal, corrected after Holm over all cells: shrinking guards each statement,
    this guards all of them together. `smallest_detectable`: the true effect that the unshrunk test
    finds in 80 % of draws, uncorrected.
    """

    models: tuple[str, ...]
    skills: tuple[str, ...]
    raw: Floats
    effect: Floats
    low: Floats
    high: Floats
    n_tasks: tuple[int, ...]
    p: Floats
    smallest_detectable: Floats
    spread: float
    level: float
    basis: Basis

    def decided(self) -> np.ndarray:
        """True where the interval leaves 0 out."""
        known: np.ndarray = (self.low > 0) | (self.high < 0)
        return known


def skill_effects(
    shares: Mapping[str, Floats],
    task_skills: Sequence[Sequence[str]],
    level: float = 0.95,
    *,
    n_trials: int = 0,
    errors: int = 0,
) -> SkillEffects:
    """Effects from each model's share of successes per task (all over the same tasks, no gaps).

    `task_skills`: the skills of each task, in the same order. Raises NotEnoughData below two
    models or four tasks, or when no skill has two tasks, ValueError when lengths differ.
    """
    models, table = tuple(shares), np.array([shares[name] for name in shares], dtype=float)
    if len(models) < 2:
        raise NotEnoughData("effects of skills are differences between models: two or more")
    if table.shape[1] != len(task_skills):
        raise ValueError("task_skills: one entry per task")
    if len(task_skills) < 4:
        raise NotEnoughData("fewer than four tasks that everybody ran: no skill can be told")
    skills = tuple(sorted({skill for names in task_skills for skill in names}))
    # What is left when the task's mean and the model's mean are taken out.
    left = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    raw = np.full((len(models), len(skills)), np.nan)
    error = np.full_like(raw, np.nan)
    counts = []
    for column, skill in enumerate(skills):
        has = np.array([skill in names for names in task_skills])
        counts.append(int(has.sum()))
        rest = len(has) - counts[-1]
        if counts[-1] < 2 or rest < 2:
            continue
        raw[:, column] = left[:, has].mean(axis=1)
        # The model's general level was taken out of the same tasks: n tasks of N leave 1 - n/N.
        share_out = 1 - counts[-1] / len(has)
        error[:, column] = left.std(axis=1, ddof=1) * np.sqrt(share_out / counts[-1])
    known = ~np.isnan(raw)
    if not known.any():
        raise NotEnoughData("no skill has two tasks with it and two without it")
    effect, deviation = np.full_like(raw, np.nan), np.full_like(raw, np.nan)
    effect[known], deviation[known], spread = _pooled(raw[known], error[known])
    normal = float(stats.norm.ppf((1 + level) / 2))
    p, detectable = np.full_like(raw, np.nan), np.full_like(raw, np.nan)
    p[known] = holm(list(2 * stats.norm.sf(np.abs(raw[known]) / np.maximum(error[known], 1e-12))))
    detectable[known] = (normal + stats.norm.ppf(0.8)) * error[known]
    return SkillEffects(
        models=models,
        skills=skills,
        raw=raw,
        effect=effect,
        low=effect - normal * deviation,
        high=effect + normal * deviation,
        n_tasks=tuple(counts),
        p=p,
        smallest_detectable=detectable,
        spread=spread,
        level=level,
        basis=Basis(
            n_tasks=len(task_skills),
            n_trials=n_trials,
            n_errors=errors,
            method="double-centred shares, partially pooled (normal-normal, spread integrated out)",
        ),
    )


def _pooled(values: Floats, errors: Floats) -> tuple[Floats, Floats, float]:
    """Posterior mean and standard deviation of each true effect, and the mean spread."""
    noise = np.maximum(errors, 1e-6)[None, :] ** 2
    grid = np.linspace(0, 3 * max(float(np.abs(values).max()), 1e-6), 200)[:, None]
    total = grid**2 + noise
    likelihood = -0.5 * (np.log(total) + values**2 / total).sum(axis=1)
    chance = np.exp(likelihood - likelihood.max())
    chance /= chance.sum()
    weight = grid**2 / total
    mean = chance @ (weight * values)
    square = chance @ (weight * noise + (weight * values) ** 2)
    return mean, np.sqrt(np.maximum(square - mean**2, 0)), float(chance @ grid[:, 0])

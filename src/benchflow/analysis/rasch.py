"""How hard each task is, on one scale with how able each model is (Rasch).

P(success) = logistic(ability - difficulty). Models are few and fixed, tasks are many and drawn
from a normal population, so abilities and the spread of difficulties are estimated by marginal
maximum likelihood with the difficulties integrated out (Bock and Aitkin 1981), and a task's
difficulty is its posterior mean: a task that nobody solved gets a finite one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import optimize, special, stats

from benchflow.analysis.estimate import Basis, Floats, Ints, NotEnoughData

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_LOG_WEIGHTS = np.log(_WEIGHTS) - 0.5 * np.log(2 * np.pi)

#: Tasks times drawn data sets, so that a thousand tasks take no gigabytes.
_MOST_DRAWN = 400_000

Flag = Literal["", "never solved", "always solved", "misfit"]


@dataclass(frozen=True)
class Rasch:
    """Abilities and difficulties in logits; difficulties have mean 0 in the population.

    `ability_error`: standard errors of the abilities. `difficulty_sd`: posterior standard
    deviation per task. `spread`: standard deviation of difficulties in the population.
    `outfit`: mean squared standardised residual per task (1 when the model fits); `infit`: the same
    weighted by information, so that far-off models matter less. `misfit_p`: how often data drawn
    from the fitted model give *any* task an outfit as extreme for that task (single-step max-T,
    Westfall and Young 1993), so corrected for the number of tasks. `flags`: dead tasks (never or
    always solved: they separate nobody) and misfits (corrected p below 1 - level), which
    able models fail and weak ones solve.
    """

    ability: Floats
    ability_error: Floats
    difficulty: Floats
    difficulty_sd: Floats
    spread: float
    outfit: Floats
    infit: Floats
    misfit_p: Floats
    flags: tuple[Flag, ...]
    level: float
    basis: Basis

    def difficulty_interval(self) -> tuple[Floats, Floats]:
        """Two-sided posterior intervals of the difficulties at `level`."""
        width = stats.norm.ppf((1 + self.level) / 2) * self.difficulty_sd
        return self.difficulty - width, self.difficulty + width

    def ability_interval(self) -> tuple[Floats, Floats]:
        """Two-sided intervals of the abilities at `level`."""
        width = stats.norm.ppf((1 + self.level) / 2) * self.ability_error
        return self.ability - width, self.ability + width


def rasch(
    successes: Ints,
    trials: Ints,
    level: float = 0.95,
    draws: int = 500,
    seed: int = 0,
    errors: int = 0,
) -> Rasch:
    """Fits successes out of trials, both of shape (models, tasks); trials may be 0.

    Tasks are taken as independent draws: generators of near-copies make it look surer than it is.
    Raises NotEnoughData below two models or five tasks, and for a model that solved all or
    nothing (its ability has no finite estimate), or when the likelihood has no clear maximum.
    """
    right: Floats = np.asarray(successes, dtype=np.float64)
    of: Floats = np.asarray(trials, dtype=np.float64)
    if right.shape != of.shape or right.ndim != 2:
        raise ValueError("successes and trials are both of shape (models, tasks)")
    n_models, n_tasks = right.shape
    if n_models < 2 or n_tasks < 5:
        raise NotEnoughData("the scale needs two models and five tasks or more")
    solved, tried = right.sum(axis=1), of.sum(axis=1)
    if np.any((solved == 0) | (solved == tried)):
        raise NotEnoughData("a model that solved nothing, or everything, has no finite ability")

    def negative_log_likelihood(parameters: Floats) -> float:
        joint = _joint(parameters[:-1], float(np.exp(parameters[-1])), right, of)
        return -float(special.logsumexp(joint, axis=1).sum())

    start = np.append(special.logit((solved + 0.5) / (tried + 1)) * 1.5, np.log(1.5))
    best = optimize.minimize(negative_log_likelihood, start, method="BFGS")
    ability, spread = best.x[:-1], float(np.exp(best.x[-1]))
    joint = _joint(ability, spread, right, of)
    posterior = np.exp(joint - special.logsumexp(joint, axis=1, keepdims=True))
    at = spread * _NODES
    difficulty = posterior @ at
    deviation = np.sqrt(np.maximum(posterior @ at**2 - difficulty**2, 0))
    outfit, infit = _fit(ability, difficulty, right, of)
    draws = max(100, min(draws, _MOST_DRAWN // n_tasks))
    generator = np.random.default_rng(seed)
    misfit_p = _misfit(ability, at, posterior, right, of, outfit, draws, generator)
    return Rasch(
        ability=ability,
        ability_error=_errors(negative_log_likelihood, best.x)[:-1],
        difficulty=difficulty,
        difficulty_sd=deviation,
        spread=spread,
        outfit=outfit,
        infit=infit,
        misfit_p=misfit_p,
        flags=flags(right, of, misfit_p < 1 - level),
        level=level,
        basis=Basis(
            n_tasks=n_tasks,
            n_trials=int(of.sum()),
            n_errors=errors,
            method=f"Rasch, marginal maximum likelihood; fit against {draws} drawn data sets",
            seed=seed,
        ),
    )


def _joint(ability: Floats, spread: float, successes: Floats, trials: Floats) -> Floats:
    """Log likelihood of each task's column at each quadrature node, weighted: (tasks, nodes)."""
    gap = ability[:, None] - spread * _NODES[None, :]
    right, wrong = special.log_expit(gap), special.log_expit(-gap)
    weighted: Floats = successes.T @ right + (trials - successes).T @ wrong + _LOG_WEIGHTS
    return weighted


def _errors(function: object, at: Floats) -> Floats:
    """Standard errors from the curvature at the maximum.

    Where tasks do not differ, the likelihood is flat in their spread: the pseudo-inverse leaves
    that direction out.
    """
    from statsmodels.tools.numdiff import approx_hess

    variance: Floats = np.diag(np.linalg.pinv(approx_hess(at, function), hermitian=True))
    if not np.isfinite(variance).all() or (variance[:-1] <= 0).any():
        raise NotEnoughData("the likelihood has no clear maximum: too few trials")
    return np.sqrt(np.maximum(variance, 0))


def _fit(
    ability: Floats, difficulty: Floats, successes: Floats, trials: Floats
) -> tuple[Floats, Floats]:
    """Outfit and infit per task; `successes` and `difficulty` may have leading axes of draws."""
    chance = special.expit(ability[:, None] - difficulty[..., None, :])
    variance = np.maximum(trials * chance * (1 - chance), 1e-9)
    squared = np.where(trials > 0, (successes - trials * chance) ** 2, 0.0)
    outfit: Floats = (squared / variance).sum(axis=-2) / np.maximum((trials > 0).sum(axis=0), 1)
    infit: Floats = squared.sum(axis=-2) / np.where(trials > 0, variance, 0.0).sum(axis=-2)
    return outfit, infit


def _misfit(
    ability: Floats,
    at: Floats,
    posterior: Floats,
    successes: Floats,
    trials: Floats,
    outfit: Floats,
    draws: int,
    generator: np.random.Generator,
) -> Floats:
    """Posterior predictive p of each task's outfit against the greatest over tasks.

    A drawn data set gets a difficulty from the task's posterior, and its outfit is taken around
    the posterior mean that the drawn data would have had, as the observed one is.
    """
    edges = posterior.cumsum(axis=1)
    picked = (generator.random((draws, len(outfit), 1)) > edges[None]).sum(axis=2)
    drawn_difficulty = at[np.minimum(picked, len(at) - 1)]
    chance = special.expit(ability[:, None] - drawn_difficulty[:, None, :])
    drawn = generator.binomial(trials.astype(np.int64), chance).astype(float)
    gap = ability[:, None] - at
    right, wrong = special.log_expit(gap), special.log_expit(-gap)
    joint = np.swapaxes(drawn, 1, 2) @ right + np.swapaxes(trials - drawn, 1, 2) @ wrong
    joint += _LOG_WEIGHTS
    joint -= joint.max(axis=2, keepdims=True)
    again = np.exp(joint)
    means = (again @ at) / again.sum(axis=2)
    drawn_outfit, _ = _fit(ability, means, drawn, trials)
    center, scale = drawn_outfit.mean(axis=0), np.maximum(drawn_outfit.std(axis=0), 1e-9)
    greatest = ((drawn_outfit - center) / scale).max(axis=1)
    beyond = (greatest[:, None] >= (outfit - center) / scale).sum(axis=0)
    p: Floats = (beyond + 1) / (draws + 1)
    return p


def flags(successes: Floats | Ints, trials: Floats | Ints, misfit: np.ndarray) -> tuple[Flag, ...]:
    """One a task, from counts of shape (models, tasks): those on the scale, or more of them."""
    solved, tried = successes.sum(axis=0), trials.sum(axis=0)
    found: list[Flag] = []
    for total, attempts, fits_badly in zip(solved, tried, misfit, strict=True):
        if total == 0:
            found.append("never solved")
        elif total == attempts:
            found.append("always solved")
        else:
            found.append("misfit" if fits_badly else "")
    return tuple(found)

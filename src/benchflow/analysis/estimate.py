"""What every estimator returns: a number, its interval, and what it stands on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class NotEnoughData(ValueError):
    """The data cannot carry the estimate; the message says what is missing."""


@dataclass(frozen=True)
class Basis:
    """What a table of estimates stands on: the same five facts that each Estimate carries."""

    n_tasks: int
    n_trials: int
    n_errors: int
    method: str
    seed: int | None = None


@dataclass(frozen=True)
class Estimate:
    """A value with a two-sided interval at confidence `level`.

    `n_tasks`, `n_trials`, `n_errors`: what was counted, and what was left out because the
    infrastructure failed. `method` names the formula; `seed` is None where nothing is drawn.
    """

    value: float
    low: float
    high: float
    level: float
    n_tasks: int
    n_trials: int
    n_errors: int
    method: str
    seed: int | None = None

    @property
    def half_width(self) -> float:
        """Half of the interval's width: the number behind “±”."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Outcomes:
    """One agent and model: successes out of trials per task (equal lengths, same order).

    `errors` counts the trials that the infrastructure lost; they are in neither array.
    `generators`: what each task was drawn by; tasks of one generator are one unit of inference.
    Empty: each task is its own.
    Raises ValueError when lengths differ or a count is impossible.
    """

    tasks: tuple[str, ...]
    successes: Ints
    trials: Ints
    errors: int = 0
    generators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.tasks) == len(self.successes) == len(self.trials):
            raise ValueError("tasks, successes and trials differ in length")
        if self.generators and len(self.generators) != len(self.tasks):
            raise ValueError("generators: one entry per task, or none")
        if len(set(self.tasks)) != len(self.tasks):
            raise ValueError("a task stands twice: add its trials up first")
        if np.any(self.trials < 1) or np.any(self.successes < 0):
            raise ValueError("every task needs at least one trial and no negative successes")
        if np.any(self.successes > self.trials):
            raise ValueError("more successes than trials")

    @property
    def n_trials(self) -> int:
        """Trials that count."""
        return int(self.trials.sum())

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of inference of each task: its generator, or itself."""
        return self.generators or self.tasks

    @property
    def shares(self) -> Floats:
        """Share of successes per task, in 0…1."""
        return self.successes / self.trials

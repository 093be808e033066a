"""Draws benchmarks whose truth is known, to see whether intervals cover it as often as they say."""

from __future__ import annotations

import numpy as np

from benchflow.analysis.estimate import Outcomes

#: Beta(a, b) of the tasks' true success rates: hard benchmarks have many tasks near 0.
SHAPE = (0.6, 1.4)


def outcomes(
    generator: np.random.Generator, n_tasks: int, attempts: int = 5, errors: int = 0
) -> Outcomes:
    """A draw of tasks (fresh ones every time) and of attempts on them; the true rate is 0.3."""
    difficulty = generator.beta(*SHAPE, size=n_tasks)
    successes = generator.binomial(attempts, difficulty)
    return Outcomes(
        tuple(f"t{i}" for i in range(n_tasks)), successes, np.full(n_tasks, attempts), errors
    )


TRUE_RATE = SHAPE[0] / sum(SHAPE)


def coverage(hits: int, draws: int) -> str:
    """For messages: the share of intervals that held the truth."""
    return f"{hits} of {draws} intervals hold the truth: {100 * hits / draws:.1f} %"

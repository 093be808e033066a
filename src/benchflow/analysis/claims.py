"""Over-claiming: the agent said that it was done, the verifier said that it was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchflow.analysis.cluster import logit_interval, ratio
from benchflow.analysis.estimate import Estimate, NotEnoughData


@dataclass(frozen=True)
class Claims:
    """`said_done`: share of trials in which the agent claimed success. `wrong`: share of those
    claims that the verifier denied; None where fewer than two tasks saw a claim. `silent`: share of
    all failures that came with a claim, that is, that a person who trusts it would not notice."""

    said_done: Estimate
    wrong: Estimate | None
    silent: Estimate | None


def claims(
    said_done: Sequence[bool],
    resolved: Sequence[bool],
    tasks: Sequence[str],
    units: Sequence[str] | None = None,
    level: float = 0.95,
    errors: int = 0,
) -> Claims:
    """One entry a trial whose claim is known. Intervals over tasks (or `units`), logit scale.

    Raises NotEnoughData below two tasks, ValueError when lengths differ.
    """
    said, won = np.asarray(said_done, bool), np.asarray(resolved, bool)
    if not len(said) == len(won) == len(tasks):
        raise ValueError("said_done, resolved and tasks differ in length")
    of = np.asarray(units or tasks)
    names = np.asarray(tasks)

    def share(top: np.ndarray, bottom: np.ndarray) -> Estimate:
        found = ratio(top[bottom].astype(float), np.ones(int(bottom.sum())), list(of[bottom]))
        low, high = logit_interval(found, level)
        return Estimate(
            value=found.value,
            low=low,
            high=high,
            level=level,
            n_tasks=len(set(names[bottom])),
            n_trials=int(bottom.sum()),
            n_errors=errors,
            method="t over tasks or generators (ratio, logit scale)",
        )

    def maybe(top: np.ndarray, bottom: np.ndarray) -> Estimate | None:
        try:
            return share(top, bottom)
        except NotEnoughData:
            return None

    everything = np.ones(len(said), dtype=bool)
    return Claims(share(said, everything), maybe(~won, said), maybe(said, ~won))

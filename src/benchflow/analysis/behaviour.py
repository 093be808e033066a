"""How agents behave (steps, tokens, minutes, ending by themselves), at equal difficulty only.

A raw mean says as much about the tasks, and about who failed on which, as about the agent: hard
tasks take longer for everybody. So a behaviour is compared within tasks, never across them, and no
raw mean is offered here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchflow.analysis.cluster import labels
from benchflow.analysis.estimate import Basis, Floats, NotEnoughData
from benchflow.analysis.within import Effects, effects, fit, sum_to_zero


@dataclass(frozen=True)
class Behaviour:
    """Per group, how far it is from the mean group on the same tasks.

    `ratio`: effects are factors (1 = like the mean group; amounts are compared as logarithms);
    else differences in the unit given.
    """

    effects: Effects
    ratio: bool
    basis: Basis


def adjusted(
    values: Floats,
    groups: Sequence[str],
    tasks: Sequence[str],
    units: Sequence[str] | None = None,
    *,
    ratio: bool = False,
    level: float = 0.95,
    errors: int = 0,
) -> Behaviour:
    """One row a trial; trials of a group on a task are averaged first, so tasks weigh the same.

    `ratio` compares logarithms: for amounts above 0 (minutes, tokens, dollars, steps). `units`:
    generators, where tasks share one. Raises NotEnoughData below two groups or two tasks that more
    than one group ran, ValueError for an amount that is not above 0 where logarithms are asked.
    """
    values = np.asarray(values, float)
    if ratio and np.any(values <= 0):
        raise ValueError("only amounts above 0 have a ratio")
    group_names, group = labels(groups)
    task_names, task = labels(tasks)
    if len(group_names) < 2:
        raise NotEnoughData("behaviour is compared between groups: two or more")
    unit_of = dict(zip(tasks, units or tasks, strict=True))
    cell = task * len(group_names) + group
    cells, place, counts = np.unique(cell, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=np.log(values) if ratio else values) / counts
    cell_task, cell_group = cells // len(group_names), cells % len(group_names)
    contrast = sum_to_zero(len(group_names))
    names = [task_names[i] for i in cell_task]
    found = fit(means, contrast[cell_group], names, [unit_of[name] for name in names])
    shown = effects(found, contrast, group_names, level)
    if ratio:
        shown = Effects(
            names=shown.names,
            effect=np.exp(shown.effect),
            low=np.exp(shown.low),
            high=np.exp(shown.high),
            p=shown.p,
            p_corrected=shown.p_corrected,
            smallest_detectable=np.exp(shown.smallest_detectable),
            level=level,
        )
    return Behaviour(
        effects=shown,
        ratio=ratio,
        basis=Basis(
            n_tasks=len(task_names),
            n_trials=len(values),
            n_errors=errors,
            method="within tasks against the mean group, errors clustered, Holm over groups",
        ),
    )

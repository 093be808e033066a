"""How much is the agent and how much the model, where the design can tell; refused elsewhere.

Agents and models are told apart only by cells (agent × model) that share either: the graph whose
nodes are agents and models and whose edges are the cells must be connected. The model is additive
per task, share = task + agent + model; where the cells hold a rectangle (two agents that both ran
two models) additivity is tested, elsewhere it is an assumption and said to be one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse, stats

from benchflow.analysis.estimate import Basis, Floats, Ints, NotEnoughData, Outcomes
from benchflow.analysis.within import Effects, Fit, effects, fit, sum_to_zero


@dataclass(frozen=True)
class Cells:
    """Which cells were run: tasks and trials, arrays of shape (agents, models).

    `parts`: the groups of agents and models that cells connect; one group means that effects of
    agents and of models can be told apart.
    """

    agents: tuple[str, ...]
    models: tuple[str, ...]
    n_tasks: Ints
    n_trials: Ints
    parts: tuple[tuple[str, ...], ...]

    @property
    def connected(self) -> bool:
        """Whether every agent is linked to every other through models that both ran."""
        return len(self.parts) == 1


@dataclass(frozen=True)
class Additivity:
    """Wald test that agent and model effects simply add up: F on (`freedom`, `within`) degrees.

    `differs`: where the cells hold exactly one rectangle and no other cycle, how far it is from
    adding up: the difference of the two agents' differences between the two models, in shares.
    """

    freedom: int
    within: int
    f: float
    p: float
    differs: Effects | None


@dataclass(frozen=True)
class Decomposition:
    """`agents`, `models`: pairwise differences, in shares, as "a - b", corrected within each.

    `additivity` is None where no cell is left to check it by: then it is assumed.
    """

    cells: Cells
    agents: Effects | None
    models: Effects | None
    additivity: Additivity | None
    basis: Basis


def cells_of(table: Mapping[tuple[str, str], Outcomes]) -> Cells:
    """The map of the design, from outcomes by (agent, model)."""
    agents = tuple(sorted({agent for agent, _ in table}))
    models = tuple(sorted({model for _, model in table}))
    n_tasks = np.zeros((len(agents), len(models)), dtype=np.int64)
    n_trials = np.zeros_like(n_tasks)
    for (agent, model), outcomes in table.items():
        place = agents.index(agent), models.index(model)
        n_tasks[place], n_trials[place] = len(outcomes.tasks), outcomes.n_trials
    return Cells(agents, models, n_tasks, n_trials, _parts(agents, models, n_tasks))


def decompose(table: Mapping[tuple[str, str], Outcomes], level: float = 0.95) -> Decomposition:
    """Differences between agents and between models, from outcomes by (agent, model).

    One row a task and cell (its share of successes), so that each task weighs the same whatever
    its number of attempts. Raises NotEnoughData when there is only one agent and one model, when
    the cells are not connected, or when the cells share too few tasks.
    """
    cells = cells_of(table)
    n_agents, n_models = len(cells.agents), len(cells.models)
    if n_agents < 2 and n_models < 2:
        raise NotEnoughData("one agent and one model")
    if not cells.connected:
        groups = "; ".join(", ".join(part) for part in cells.parts)
        raise NotEnoughData(f"no run links these groups: {groups}")
    order = list(table)
    agent_of = [cells.agents.index(agent) for agent, _ in order]
    model_of = [cells.models.index(model) for _, model in order]
    additive = np.hstack([sum_to_zero(n_agents)[agent_of], sum_to_zero(n_models)[model_of]])
    rows = [
        (place, share, task, unit)
        for place, cell in enumerate(order)
        for share, task, unit in zip(
            table[cell].shares, table[cell].tasks, table[cell].units, strict=True
        )
    ]
    place = np.array([row[0] for row in rows])
    values = np.array([row[1] for row in rows], dtype=float)
    tasks, units = [row[2] for row in rows], [row[3] for row in rows]
    found = fit(values, additive[place], tasks, units)
    return Decomposition(
        cells=cells,
        agents=_pairs(found, cells.agents, level, 0),
        models=_pairs(found, cells.models, level, n_agents - 1),
        additivity=_additivity(values, additive, place, tasks, units, order, level),
        basis=Basis(
            n_tasks=len(set(tasks)),
            n_trials=sum(outcomes.n_trials for outcomes in table.values()),
            n_errors=sum(outcomes.errors for outcomes in table.values()),
            method="additive within tasks, errors clustered, Holm within agents and within models",
        ),
    )


def _pairs(found: Fit, names: tuple[str, ...], level: float, first: int) -> Effects | None:
    if len(names) < 2:
        return None
    levels = sum_to_zero(len(names))
    pairs = list(itertools.combinations(range(len(names)), 2))
    contrasts = np.array([levels[a] - levels[b] for a, b in pairs])
    return effects(found, contrasts, [f"{names[a]} - {names[b]}" for a, b in pairs], level, first)


def _additivity(
    values: Floats,
    additive: Floats,
    place: np.ndarray,
    tasks: list[str],
    units: list[str],
    order: list[tuple[str, str]],
    level: float,
) -> Additivity | None:
    """Adds the directions that cells leave beyond additivity, and tests them together."""
    known = np.hstack([np.ones((len(additive), 1)), additive])
    beyond = linalg.null_space(known.T)
    freedom = beyond.shape[1]
    if freedom == 0:
        return None
    try:
        found = fit(values, np.hstack([additive, beyond])[place], tasks, units)
    except NotEnoughData:
        return None
    first, within = additive.shape[1], found.n_clusters - 1
    if within < freedom:
        return None
    extra = found.coefficients[first:]
    covariance = found.covariance[first:, first:]
    f = float(extra @ np.linalg.pinv(covariance) @ extra / freedom)
    corners = np.flatnonzero(np.abs(beyond[:, 0]) > 1e-9)
    differs = None
    if freedom == 1 and len(corners) == 4:
        differs = _rectangle(found, beyond[:, 0], [order[i] for i in corners], order, first, level)
    return Additivity(freedom, within, f, float(stats.f.sf(f, freedom, within)), differs)


def _rectangle(
    found: Fit,
    beyond: Floats,
    corners: list[tuple[str, str]],
    order: list[tuple[str, str]],
    first: int,
    level: float,
) -> Effects:
    """The null vector of one rectangle alternates ±c: its alternating sum is coefficient / c."""
    one, other = sorted({agent for agent, _ in corners})
    left, right = sorted({model for _, model in corners})
    c = beyond[order.index((one, left))]
    name = f"({one}: {left} - {right}) - ({other}: {left} - {right})"
    return effects(found, np.array([[1 / c]]), [name], level, first)


def _parts(
    agents: tuple[str, ...], models: tuple[str, ...], n_tasks: Ints
) -> tuple[tuple[str, ...], ...]:
    joined = sparse.bmat([[None, n_tasks > 0], [(n_tasks > 0).T, None]])
    count, part = sparse.csgraph.connected_components(joined, directed=False)
    names = (*agents, *models)
    return tuple(
        tuple(name for name, where in zip(names, part, strict=True) if where == number)
        for number in range(count)
    )

"""Agent or model: told apart where the design connects them, refused with the reason elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from benchflow.analysis.decompose import cells_of, decompose
from benchflow.analysis.estimate import NotEnoughData, Outcomes

from .simulate import crossed, names


def cell(shares: list[int], tasks: tuple[str, ...] | None = None) -> Outcomes:
    return Outcomes(tasks or names(len(shares)), np.array(shares), np.full(len(shares), 5))


def test_a_full_crossing_gives_the_means_of_the_differences() -> None:
    generator = np.random.default_rng(1)
    table = {
        (agent, model): cell(list(generator.integers(0, 6, size=30)))
        for agent in ("x", "y")
        for model in ("m", "n")
    }
    found = decompose(table)
    assert found.agents
    assert found.models
    mean = {key: float(outcomes.shares.mean()) for key, outcomes in table.items()}
    expected = (mean["x", "m"] + mean["x", "n"] - mean["y", "m"] - mean["y", "n"]) / 2
    assert found.agents.names == ("x - y",)
    assert found.agents.effect[0] == pytest.approx(expected)
    assert found.additivity
    assert found.additivity.differs
    crossed_difference = mean["x", "m"] - mean["x", "n"] - mean["y", "m"] + mean["y", "n"]
    assert found.additivity.differs.names == ("(x: m - n) - (y: m - n)",)
    assert found.additivity.differs.effect[0] == pytest.approx(crossed_difference)
    assert found.additivity.p == pytest.approx(float(found.additivity.differs.p[0]))


def test_it_agrees_with_a_regression_on_dummies() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf

    table = crossed(np.random.default_rng(2))
    rows = {
        "share": np.concatenate([o.shares for o in table.values()]),
        "agent": np.repeat([agent for agent, _ in table], 60),
        "model": np.repeat([model for _, model in table], 60),
        "task": [task for outcomes in table.values() for task in outcomes.tasks],
    }
    theirs = smf.ols("share ~ C(agent) + C(model) + C(task)", pd.DataFrame(rows)).fit()
    found = decompose(table)
    assert found.agents
    assert found.models
    assert found.agents.names == ("x - y", "x - z", "y - z")
    ours = found.agents.effect
    assert ours[0] == pytest.approx(-theirs.params["C(agent)[T.y]"])
    assert ours[1] == pytest.approx(-theirs.params["C(agent)[T.z]"])
    assert ours[2] == pytest.approx(ours[1] - ours[0])
    assert found.models.effect[0] == pytest.approx(-theirs.params["C(model)[T.n]"])


def test_agents_that_share_no_model_are_refused_by_name() -> None:
    table = {("x", "m"): cell([1, 2, 3]), ("y", "n"): cell([1, 2, 3])}
    assert cells_of(table).parts == (("x", "m"), ("y", "n"))
    with pytest.raises(NotEnoughData, match=r"no run links these groups: x, m; y, n"):
        decompose(table)


def test_a_chain_of_cells_connects_but_cannot_test_additivity() -> None:
    table = {("x", "m"): cell([1, 2, 3]), ("y", "m"): cell([2, 2, 5]), ("y", "n"): cell([0, 2, 4])}
    found = decompose(table)
    assert found.cells.connected
    assert found.additivity is None


def test_cells_on_other_tasks_cannot_be_told_apart() -> None:
    table = {
        ("x", "m"): cell([1, 2, 3]),
        ("y", "m"): cell([1, 2, 3], ("u", "v", "w")),
    }
    with pytest.raises(NotEnoughData):
        decompose(table)


def test_tasks_of_one_cell_alone_make_nothing_surer() -> None:
    few = {("x", "m"): cell([1, 2, 3, 5]), ("y", "m"): cell([2, 2, 5, 1])}
    alone = Outcomes(
        (*names(4), *(f"only {i}" for i in range(60))),
        np.array([1, 2, 3, 5] + [3, 1] * 30),
        np.full(64, 5),
    )
    found, more = decompose(few).agents, decompose({**few, ("x", "m"): alone}).agents
    assert found and more
    assert more.low == pytest.approx(found.low)
    assert more.p == pytest.approx(found.p)


def test_the_map_counts_tasks_and_trials_of_each_cell() -> None:
    cells = cells_of(crossed(np.random.default_rng(3)))
    assert cells.agents == ("x", "y", "z")
    assert cells.n_tasks.tolist() == [[60, 60], [60, 60], [60, 0]]
    assert cells.n_trials[2].tolist() == [300, 0]


def test_one_pair_has_nothing_to_tell_apart() -> None:
    with pytest.raises(NotEnoughData, match="one agent and one model"):
        decompose({("x", "m"): cell([1, 2])})

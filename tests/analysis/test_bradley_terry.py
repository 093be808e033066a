"""Votes: strengths are found, errors account for voters and tasks, impossible data is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from benchflow.analysis.bradley_terry import bradley_terry
from benchflow.analysis.estimate import NotEnoughData

from .simulate import votes


def test_two_names_give_the_log_odds_of_the_plain_count() -> None:
    found = bradley_terry(
        ["a"] * 30 + ["b"] * 10,
        ["b"] * 30 + ["a"] * 10,
        list("vw") * 20,
        list("tttuuu") * 6 + list("tuuu"),
    )
    assert found.strength[0] - found.strength[1] == pytest.approx(np.log(3), abs=1e-6)


def test_impossible_data_is_refused() -> None:
    with pytest.raises(NotEnoughData, match="never won or never lost"):
        bradley_terry(["a", "a"], ["b", "b"], ["v", "w"], ["t", "u"])
    with pytest.raises(NotEnoughData, match="two voters"):
        bradley_terry(["a", "b"], ["b", "a"], ["v", "v"], ["t", "u"])
    with pytest.raises(ValueError, match="differ in length"):
        bradley_terry(["a"], ["b", "a"], ["v", "v"], ["t", "u"])


def test_the_strengths_are_those_of_greatest_likelihood() -> None:
    winners, losers, voters, tasks = votes(np.random.default_rng(3))
    found = bradley_terry(winners, losers, voters, tasks)

    def loss(at: np.ndarray) -> float:
        strength = dict(zip("abc", [*at, -at.sum()], strict=True))
        gaps = [strength[w] - strength[x] for w, x in zip(winners, losers, strict=True)]
        return -float(special.log_expit(np.array(gaps)).sum())

    best = optimize.minimize(loss, np.zeros(2)).x
    assert found.strength == pytest.approx([*best, -best.sum()], abs=1e-4)
    assert (found.n_votes, found.n_voters, found.n_tasks) == (480, 40, 30)


def test_groups_that_never_lost_to_the_rest_have_no_finite_strength() -> None:
    """Each of the four won and lost, but a and b beat c and d whenever they met."""
    winners = ["a", "b", "c", "d", "a", "b"]
    losers = ["b", "a", "d", "c", "c", "d"]
    with pytest.raises(NotEnoughData, match="against the rest"):
        bradley_terry(winners, losers, ["v", "w"] * 3, ["t", "t", "t", "u", "u", "u"])

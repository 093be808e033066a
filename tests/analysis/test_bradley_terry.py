"""Votes: strengths are found, errors account for voters and tasks, impossible data is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from benchflow.analysis.bradley_terry import bradley_terry
from benchflow.analysis.estimate import NotEnoughData

from .simulate import STRENGTH, swayed_votes, votes


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


def test_what_sways_votes_is_found_and_taken_out() -> None:
    """Over 60 draws: intervals of both sways and of the strengths hold the truth about as often as
    they say, where strengths that leave the sways out are off the same way each time."""
    generator = np.random.default_rng(11)
    held = {"stood left": 0, "longer": 0, "strength": 0}
    plain_gap, gap, draws = [], [], 60
    for _ in range(draws):
        winners, losers, voters, tasks, sways = swayed_votes(generator)
        found = bradley_terry(winners, losers, voters, tasks, sways=sways)
        for sway, true in zip(found.sways, (0.7, 0.5), strict=True):
            held[sway.name] += sway.low <= true <= sway.high
        held["strength"] += found.low[0] <= STRENGTH["a"] <= found.high[0]
        gap.append(found.strength[0] - found.strength[2])
        plain = bradley_terry(winners, losers, voters, tasks)
        plain_gap.append(plain.strength[0] - plain.strength[2])
    true = STRENGTH["a"] - STRENGTH["c"]
    assert np.mean(gap) == pytest.approx(true, abs=0.12)
    assert np.mean(plain_gap) < true - 0.5, "left out, the sway is taken for weakness"
    assert all(51 <= n <= draws for n in held.values()), held


def test_a_sway_that_is_not_there_is_seldom_found() -> None:
    generator = np.random.default_rng(12)
    found = [
        bradley_terry(*made[:4], sways=made[4]).sways[0].p < 0.05
        for made in (swayed_votes(generator, left=0.0) for _ in range(60))
    ]
    assert sum(found) <= 8


def test_a_sway_that_follows_from_who_it_is_cannot_be_told() -> None:
    winners, losers, voters, tasks = votes(np.random.default_rng(3))
    worth = {"a": 1.0, "b": 0.0, "c": -1.0}
    same = [worth[w] - worth[x] for w, x in zip(winners, losers, strict=True)]
    with pytest.raises(NotEnoughData, match="cannot be told from the strengths"):
        bradley_terry(winners, losers, voters, tasks, sways={"longer": same})


def test_tiers_hold_all_that_the_best_is_not_shown_to_beat() -> None:
    winners, losers, voters, tasks = votes(np.random.default_rng(3), taste=0.0)
    assert bradley_terry(winners, losers, voters, tasks).tiers() == [["a"], ["b"], ["c"]]
    few = slice(0, 60)
    near = bradley_terry(winners[few], losers[few], voters[few], tasks[few])
    assert near.tiers()[0][0] == near.names[int(np.argmax(near.strength))]
    assert len(near.tiers()) < 3, "so few votes do not part all three"


def test_without_tasks_errors_are_clustered_by_voter_alone() -> None:
    winners, losers, voters, _ = votes(np.random.default_rng(3))
    found = bradley_terry(winners, losers, voters)
    assert (found.n_tasks, found.freedom) == (0, 39)
    alone = bradley_terry(winners, losers, voters, [f"t{n}" for n in range(len(winners))])
    assert found.strength == pytest.approx(alone.strength) and found.tiers() == alone.tiers()

"""Votes: strengths are found, errors account for voters and tasks, impossible data is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from benchflow.analysis.bradley_terry import bradley_terry
from benchflow.analysis.estimate import NotEnoughData

from .simulate import coverage

TRUTH = {"a": 0.8, "b": 0.0, "c": -0.8}


def votes(
    generator: np.random.Generator, n_voters: int = 40, each: int = 12, taste: float = 0.6
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Voters with a taste of their own, so that one voter's votes hang together."""
    rows: tuple[list[str], list[str], list[str], list[str]] = ([], [], [], [])
    names = list(TRUTH)
    for voter in range(n_voters):
        own = dict(zip(names, generator.normal(0, taste, size=3), strict=True))
        for _ in range(each):
            x, y = generator.choice(names, size=2, replace=False)
            gap = TRUTH[x] + own[x] - TRUTH[y] - own[y]
            if generator.random() > special.expit(gap):
                x, y = y, x
            task = f"t{generator.integers(30)}"
            for column, value in zip(rows, (x, y, f"v{voter}", task), strict=True):
                column.append(str(value))
    return rows


def test_two_names_give_the_log_odds_of_the_plain_count() -> None:
    found = bradley_terry(
        ["a"] * 30 + ["b"] * 10,
        ["b"] * 30 + ["a"] * 10,
        list("vw") * 20,
        list("tttuuu") * 6 + list("tuuu"),
    )
    assert found.strength[0] - found.strength[1] == pytest.approx(np.log(3), abs=1e-6)


def test_the_intervals_cover() -> None:
    generator, draws = np.random.default_rng(1), 1000
    truth = np.array([0.8, 0.0, -0.8])
    # A voter's own taste pulls the strengths of a crowd towards 0: the crowd's truth is measured.
    many = bradley_terry(*votes(np.random.default_rng(99), n_voters=4000, each=12)).strength
    assert abs(many - truth).max() < 0.2
    hits = np.zeros(3)
    for _ in range(draws):
        found = bradley_terry(*votes(generator))
        hits += (found.low <= many) & (many <= found.high)
    for one in hits:
        assert 0.92 <= one / draws <= 0.975, coverage(int(one), draws)


def test_impossible_data_is_refused() -> None:
    with pytest.raises(NotEnoughData, match="never won or never lost"):
        bradley_terry(["a", "a"], ["b", "b"], ["v", "w"], ["t", "u"])
    with pytest.raises(NotEnoughData, match="two voters"):
        bradley_terry(["a", "b"], ["b", "a"], ["v", "v"], ["t", "u"])
    with pytest.raises(ValueError, match="differ in length"):
        bradley_terry(["a"], ["b", "a"], ["v", "v"], ["t", "u"])

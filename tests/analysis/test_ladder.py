"""Ladders: chances of the next rung, who climbs better, and how soon."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from statsmodels.duration.survfunc import CumIncidenceRight

from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.ladder import cumulative_incidence, rung_chances, sequential_logit

from .simulate import coverage

RUNGS = np.array([1.5, 0.5, 0.0, -0.5])


def climb(
    generator: np.random.Generator, effect: float, n_tasks: int = 40, attempts: int = 3
) -> tuple[np.ndarray, list[str], list[str]]:
    """Two groups on the same tasks; the tasks differ (their own pull on every rung)."""
    furthest, groups, tasks = [], [], []
    for task in range(n_tasks):
        own = generator.normal(0, 0.5)
        for group, pull in (("a", effect), ("b", -effect)):
            for _ in range(attempts):
                chance = special.expit(RUNGS + pull + own)
                passed = generator.random(len(RUNGS)) < chance
                furthest.append(int(np.argmin(passed)) if not passed.all() else len(RUNGS))
                groups.append(group)
                tasks.append(f"t{task}")
    return np.array(furthest), groups, tasks


def test_rung_chances_are_the_plain_counts() -> None:
    furthest = np.array([0, 1, 2, 2, 1, 0])
    chances = rung_chances(furthest, 3, ["x", "x", "x", "y", "y", "y"])
    assert [round(c.value, 6) if c else None for c in chances] == [
        round(4 / 6, 6),
        round(2 / 4, 6),
        0.0,
    ]
    assert rung_chances(np.array([0, 0]), 2, ["x", "y"])[1] is None


def test_the_effect_of_a_group_is_found_and_covered() -> None:
    """The truth is the marginal effect: what endless data of this kind gives."""
    truth = sequential_logit(
        *_reorder(climb(np.random.default_rng(50), 0.4, n_tasks=20_000))
    ).effect[0]
    assert truth == pytest.approx(0.4, abs=0.05)
    generator, hits, draws = np.random.default_rng(1), 0, 1000
    for _ in range(draws):
        found = sequential_logit(*_reorder(climb(generator, 0.4)))
        hits += found.low[0] <= truth <= found.high[0]
    assert 0.92 <= hits / draws <= 0.97, coverage(hits, draws)


def _reorder(
    drawn: tuple[np.ndarray, list[str], list[str]],
) -> tuple[np.ndarray, int, list[str], list[str]]:
    return drawn[0], len(RUNGS), drawn[1], drawn[2]


def test_rungs_that_separate_nobody_are_left_out() -> None:
    furthest = np.array([1, 2, 1, 2, 1, 1])
    found = sequential_logit(furthest, 3, list("aabbab"), list("xyxyzz"))
    assert found.left_out == (1, 3)
    with pytest.raises(NotEnoughData):
        sequential_logit(np.array([1, 1]), 1, ["a", "b"], ["x", "y"])


def test_incidence_agrees_with_statsmodels() -> None:
    generator = np.random.default_rng(2)
    amounts = generator.exponential(10, size=120).round(1) + 0.1
    status = generator.choice([0, 1, 2], size=120)
    with np.errstate(divide="ignore", invalid="ignore"):  # of its own variance, at the last time
        theirs = CumIncidenceRight(amounts, status)
    ours = cumulative_incidence(
        amounts, status, [f"t{i % 12}" for i in range(120)], theirs.times, draws=20
    )
    assert ours.share == pytest.approx(theirs.cinc[0])


def test_those_who_stopped_never_count_as_still_on_the_way() -> None:
    """Averages over the steps that ran would pay an agent to stop early."""
    amounts, status = np.array([1.0, 1.0, 1.0, 9.0]), np.array([2, 2, 2, 1])
    found = cumulative_incidence(amounts, status, list("xxyy"), np.array([10.0]), draws=20)
    assert found.share[0] == pytest.approx(0.25)


def test_the_incidence_interval_covers() -> None:
    generator, hits, draws = np.random.default_rng(3), 0, 1000

    def drawn(n_tasks: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        pull = np.repeat(generator.normal(0, 0.7, size=n_tasks), 4)
        reach = generator.exponential(10 * np.exp(pull))
        stop = generator.exponential(15, size=len(pull))
        cut = np.full(len(pull), 30.0)
        amounts = np.minimum(np.minimum(reach, stop), cut)
        status = np.where(amounts == reach, 1, np.where(amounts == stop, 2, 0))
        return amounts, status, [f"t{i // 4}" for i in range(len(pull))]

    at = np.array([8.0])
    big = drawn(100_000)
    truth = float(((big[1] == 1) & (big[0] <= at[0])).mean())
    for _ in range(draws):
        found = cumulative_incidence(*drawn(30), at, draws=100)
        hits += bool(found.low[0] <= truth <= found.high[0])
    assert 0.92 <= hits / draws <= 0.97, coverage(hits, draws)

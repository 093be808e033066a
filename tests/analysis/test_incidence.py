"""How soon: agrees with others, and those who stopped never count as on their way."""

from __future__ import annotations

import numpy as np
import pytest

from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.incidence import cumulative_incidence


def test_incidence_agrees_with_statsmodels() -> None:
    from statsmodels.duration.survfunc import CumIncidenceRight

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


def test_what_ended_without_it_is_its_own_curve() -> None:
    amounts, status = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 2, 1, 2])
    found = cumulative_incidence(amounts, status, list("xxyy"), np.array([2.5, 9.0]), draws=20)
    assert found.share.tolist() == pytest.approx([0.25, 0.5])
    assert found.ended.tolist() == pytest.approx([0.25, 0.5])
    assert (found.basis.n_tasks, found.basis.n_trials, found.basis.seed) == (2, 4, 0)


def test_nothing_is_said_beyond_the_last_trial_that_was_cut_off() -> None:
    amounts, status = np.array([1.0, 5.0, 2.0, 5.0]), np.array([1, 0, 2, 0])
    found = cumulative_incidence(amounts, status, list("xxyy"), np.array([4.0, 6.0]), draws=20)
    assert found.share[0] == pytest.approx(0.25)
    assert np.isnan(found.share[1])
    assert found.last == 5.0


def test_one_task_has_no_interval() -> None:
    with pytest.raises(NotEnoughData):
        cumulative_incidence(np.array([1.0, 2.0]), np.array([1, 2]), ["x", "x"], np.array([1.0]))

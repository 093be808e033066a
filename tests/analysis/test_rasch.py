"""Rasch: known truth is found, intervals cover, dead tasks are flagged."""

from __future__ import annotations

import numpy as np
import pytest

from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.rasch import rasch

from .simulate import ABILITY, rasch_data


def test_known_difficulties_are_found_in_order() -> None:
    successes, trials, difficulty = rasch_data(np.random.default_rng(1), n_tasks=200, attempts=20)
    fitted = rasch(successes, trials)
    assert np.corrcoef(fitted.difficulty, difficulty)[0, 1] > 0.95
    assert fitted.spread == pytest.approx(1.5, rel=0.15)


def test_it_agrees_with_an_independent_mixed_model() -> None:
    """statsmodels fits the same model by variational Bayes, trial by trial."""

    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    successes, trials, _ = rasch_data(np.random.default_rng(3), n_tasks=80, attempts=4)
    ours = rasch(successes, trials)
    rows, models, tasks = [], [], []
    for (model, task), won in np.ndenumerate(successes):
        for attempt in range(trials[model, task]):
            rows.append(float(attempt < won))
            models.append(model)
            tasks.append(task)
    fixed = np.eye(len(ABILITY))[models]
    random = np.eye(80)[tasks]
    theirs = BinomialBayesMixedGLM(
        np.array(rows), fixed, random, np.zeros(80, dtype=int), vcp_p=2, fe_p=10
    ).fit_vb()
    assert ours.ability == pytest.approx(theirs.fe_mean, abs=0.25)


def test_dead_tasks_are_flagged_and_stay_finite() -> None:
    successes, trials, _ = rasch_data(np.random.default_rng(4))
    successes[:, 0], successes[:, 1] = 0, trials[:, 1]
    fitted = rasch(successes, trials)
    assert fitted.flags[:2] == ("never solved", "always solved")
    assert np.isfinite(fitted.difficulty).all()


def test_a_task_that_only_the_weak_solve_is_a_misfit() -> None:
    successes, trials, _ = rasch_data(np.random.default_rng(5), attempts=20)
    successes[:, 0] = [20, 10, 0]
    assert rasch(successes, trials).flags[0] == "misfit"


def test_data_from_the_model_is_seldom_called_a_misfit() -> None:
    generator, flagged = np.random.default_rng(8), 0
    for _ in range(40):
        successes, trials, _ = rasch_data(generator)
        flagged += "misfit" in rasch(successes, trials, draws=200).flags
    assert flagged <= 6


def test_missing_cells_are_allowed_and_impossible_data_is_refused() -> None:
    successes, trials, _ = rasch_data(np.random.default_rng(6))
    successes[0, :10], trials[0, :10] = 0, 0
    assert np.isfinite(rasch(successes, trials).ability).all()
    successes[0] = 0
    with pytest.raises(NotEnoughData, match="no finite ability"):
        rasch(successes, trials)
    with pytest.raises(NotEnoughData, match="two models"):
        rasch(successes[:1], trials[:1])

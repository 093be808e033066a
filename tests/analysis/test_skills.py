"""Skills: effects are found, shrunk where there is only noise, and left undecided."""

from __future__ import annotations

import numpy as np
import pytest

from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.skills import skill_effects

from .simulate import SKILLS, skilled


def fit(shares: dict[str, np.ndarray]):  # type: ignore[no-untyped-def]
    return skill_effects(shares, [[skill] for skill in SKILLS])


def test_a_strong_effect_is_decided_and_has_its_sign() -> None:
    shares = {"a": np.repeat([0.9, 0.2, 0.5], 20), "b": np.repeat([0.1, 0.8, 0.5], 20)}
    noise = np.random.default_rng(0).normal(0, 0.05, size=60)
    found = fit(
        {
            name: values + noise * sign
            for (name, values), sign in zip(shares.items(), (1, -1), strict=True)
        }
    )
    assert found.decided()[0].tolist() == [True, True, False]
    assert found.effect[0, 0] > 0 > found.effect[0, 1]


def test_pure_noise_is_rarely_decided() -> None:
    generator, decided, cells = np.random.default_rng(1), 0, 0
    for _ in range(300):
        found = fit(skilled(generator, 0.0)[0])
        decided += int(found.decided().sum())
        cells += found.raw.size
    assert decided / cells < 0.05


def test_skills_with_one_task_say_nothing() -> None:
    shares = {"a": np.array([1, 0, 1, 0.0]), "b": np.array([0, 1, 0, 1.0])}
    found = skill_effects(shares, [["x"], ["y"], ["y"], ["z"]])
    assert np.isnan(found.effect[0]).tolist() == [True, False, True]
    with pytest.raises(NotEnoughData):
        skill_effects(shares, [["x"], ["y"], ["z"], ["w"]])

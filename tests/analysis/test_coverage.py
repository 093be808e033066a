"""Every 95 % interval holds the truth as often as the table in docs/analysis.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from .coverage import HIGHEST, LOWEST, SCENARIOS, Scenario, measure, row

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(one, id=f"{one.name} ({one.data})", marks=[pytest.mark.slow] * one.slow)
        for one in SCENARIOS
    ],
)
def test_it_covers_as_often_as_documented(scenario: Scenario) -> None:
    found = measure(scenario)
    assert found.lowest >= LOWEST
    assert found.highest <= HIGHEST
    assert found.draws >= 950
    assert row(scenario, found) in PAGE.read_text(), "python -m tests.analysis.coverage PAGE"

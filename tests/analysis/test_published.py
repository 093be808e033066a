"""On 2,352 published trials: means equal the plain count, and both kinds of ± are shown."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from benchflow.analysis.compare import tiers
from benchflow.analysis.estimate import Outcomes
from benchflow.analysis.rates import bootstrap_rate, rate

DATA = Path(__file__).parents[3] / "shared" / "data" / "terminal-bench-core-0.1.1.jsonl"

pytestmark = pytest.mark.skipif(
    not DATA.is_file(), reason="the published trials are not part of this repository"
)


def published() -> dict[str, Outcomes]:
    grouped: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for line in DATA.read_text().splitlines():
        row = json.loads(line)
        grouped[f"{row['agent']} {row['model']}"][row["task"]].append(bool(row["resolved"]))
    return {
        name: Outcomes(
            tuple(tasks),
            np.array([sum(results) for results in tasks.values()]),
            np.array([len(results) for results in tasks.values()]),
        )
        for name, tasks in grouped.items()
    }


def test_means_equal_the_plain_count_to_the_last_digit() -> None:
    data = published()
    assert rate(data["droid claude-4-1-opus"]).total.value == 0.5875
    for outcomes in data.values():
        assert rate(outcomes).total.value == outcomes.successes.sum() / outcomes.n_trials


def test_the_usual_plus_minus_is_a_quarter_of_the_honest_one() -> None:
    best = rate(published()["droid claude-4-1-opus"])
    assert best.rerun_only is not None
    assert round(100 * best.rerun_only.half_width, 1) == 2.4
    assert round(100 * best.total.half_width, 1) == 9.9


def test_formula_and_resampling_agree_on_real_data() -> None:
    for outcomes in published().values():
        formula, resampled = rate(outcomes).total, bootstrap_rate(outcomes)
        assert resampled.half_width == pytest.approx(formula.half_width, rel=0.1)


def test_six_pairs_are_fewer_tiers_than_ranks() -> None:
    found = tiers(published())
    assert "droid claude-4-1-opus" in found[0]
    assert "swe-agent-mini claude-4-sonnet" in found[-1]
    assert 2 <= len(found) < 6

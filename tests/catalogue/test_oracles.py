"""Every task's oracle, from scratch: what it makes is booted, and earns every milestone.

One or two of them a run, side by side. By their names the two that build for the longest
(from-source/cross-toolchain and tiny-linux) are alone in their turns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.run.plain import run_json

from benchflow.tasks import names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def oracles(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Task → the trial of its oracle, of all tasks that are this run's turn."""
    items = [item for item in request.session.items if item.path == request.path]
    chosen = [item.callspec.params["name"] for item in items if isinstance(item, pytest.Function)]
    jobs = str(tmp_path_factory.mktemp("jobs"))
    job = run_json("run", *chosen, "--agent", "oracle", "--jobs-dir", jobs, cwd=ROOT)
    return {trial["task"]: trial for trial in job["trials"]}


@pytest.mark.slow(every=10)
@pytest.mark.parametrize("name", names())
def test_it_earns_every_milestone(name: str, oracles: dict[str, Any]) -> None:
    trial = oracles[name]
    assert (trial["verdict"], trial["reward"]) == ("resolved", 1), trial["milestones"]

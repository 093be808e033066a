"""What solutions and doing nothing earn in verifiers' docker runtime, and here for the same files.

An episode takes as long as the task's solution and verification do: minutes, for some an hour. Only
the task's own limits end it.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import verifiers.v1 as vf
from play import play

from conftest import BENCHFLOW, exported


def scores(trace: vf.Trace) -> dict[str, float]:
    """`reward`, `resolved` and each milestone: what does not depend on the machine's speed."""
    kept = ("resolved", "milestone.")
    judged = {name: value for name, value in trace.metrics.items() if name.startswith(kept)}
    return {"reward": trace.reward, **judged}


def judged_here(dataset: Path, task: str, trace: vf.Trace, place: Path) -> dict[str, float]:
    """The scores that `benchflow verify` gives to what this trace delivered."""
    for archive in filter(None, trace.state.artifacts.values()):
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(place, filter="tar")
    told = tomllib.loads((dataset / task / "task.toml").read_text())["metadata"]["benchflow"]
    paths = [each["path"] for each in told["deliverables"]]
    given = [f"{path}={place}{path}" for path in paths if (place / path.lstrip("/")).exists()]
    words = [word for one in given for word in ("--deliverable", one)]
    logs = place / "logs"
    done = subprocess.run(
        [BENCHFLOW, "verify", f"{told['topic']}/{told['name']}", *words, "--logs", str(logs)],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    rewards = json.loads((logs / "verifier/reward.json").read_text())
    return {name: float(v) for name, v in rewards.items() if not name.startswith("metric.")}


@pytest.mark.parametrize("task", exported())
def test_doing_nothing_earns_nothing(dataset: Path, task: str) -> None:
    episode = play(dataset, task, "nop")
    assert episode.ok, episode.errors
    [trace] = episode.traces
    assert {name: reward.score for name, reward in trace.rewards.items()} == {"reward": 0.0}
    earned = scores(trace)
    assert len(earned) > 2
    assert set(earned.values()) == {0.0}


@pytest.mark.parametrize("task", exported())
def test_the_solution_earns_everything_there_and_here(
    dataset: Path, task: str, tmp_path: Path
) -> None:
    episode = play(dataset, task, "oracle")
    assert episode.ok, episode.errors
    [trace] = episode.traces
    assert {name: reward.score for name, reward in trace.rewards.items()} == {"reward": 1.0}
    earned = scores(trace)
    assert len(earned) > 2
    assert set(earned.values()) == {1.0}
    assert earned == judged_here(dataset, task, trace, tmp_path)


def test_half_a_solution_earns_the_same_there_and_here(dataset: Path, tmp_path: Path) -> None:
    episode = play(dataset, "repair-dead-server", "oracle", stop_after="login")
    assert episode.ok, episode.errors
    [trace] = episode.traces
    earned = scores(trace)
    assert 0 < earned["reward"] < 1
    assert earned == judged_here(dataset, "repair-dead-server", trace, tmp_path)

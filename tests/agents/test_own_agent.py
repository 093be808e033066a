"""The agent in examples/ with the scripted model: its trajectory and its tokens are exact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harbor.models.trajectories import Trajectory
from layered_trials import COMMANDS, write_task

from benchflow.scripted_model import ScriptedModel, of_commands

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.needs("sandbox")


def test_the_agent_of_forty_lines_solves_a_task(tmp_path: Path) -> None:
    write_task(tmp_path / "task")
    with ScriptedModel.start({"scripted": of_commands(COMMANDS)}) as model:
        access = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model.base_urls["openai"]}
        benchflow = [str(Path(sys.executable).parent / "benchflow"), "run", "task", "--json"]
        done = subprocess.run(
            [*benchflow, "--agent", "forty:Forty", "--model", "openai/scripted"],
            cwd=tmp_path,
            env={**os.environ, **access, "PYTHONPATH": str(EXAMPLES)},
            capture_output=True,
            text=True,
        )
        truth = model.totals()["none"].usage
    assert done.returncode == 0, done.stdout + done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    assert [trial["verdict"] for trial in job["trials"]] == ["resolved"]
    (written,) = Path(job["path"]).glob("*/agent/trajectory.json")
    trajectory = Trajectory.model_validate_json(written.read_text())
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_prompt_tokens == truth.input
    assert trajectory.final_metrics.total_completion_tokens == truth.output
    commands = [call.arguments["command"] for s in trajectory.steps for call in s.tool_calls or []]
    assert commands == COMMANDS

"""The agent in docs/agents.md runs as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harbor.models.trajectories import Trajectory
from layered_trials import COMMANDS, write_task

from benchflow.scripted_model import ScriptedModel, of_commands

pytestmark = pytest.mark.needs("sandbox")

DOCS = Path(__file__).parents[2] / "docs" / "agents.md"


def test_the_agent_in_the_docs_solves_a_task(tmp_path: Path) -> None:
    (code,) = re.findall(r'```python\n("""forty\.py.*?)```', DOCS.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 40
    (tmp_path / "forty.py").write_text(code)
    write_task(tmp_path / "task")
    with ScriptedModel.start({"scripted": of_commands(COMMANDS)}) as model:
        access = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model.base_urls["openai"]}
        benchflow = [str(Path(sys.executable).parent / "benchflow"), "run", "task", "--json"]
        done = subprocess.run(
            [*benchflow, "--agent", "forty:Forty", "--model", "openai/scripted"],
            cwd=tmp_path,
            env={**os.environ, **access, "PYTHONPATH": str(tmp_path)},
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

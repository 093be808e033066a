"""The scripted agent leaves a trajectory in ATIF, like every other agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from harbor.models.trajectories import Trajectory

from benchflow.agents.atif import NAME, TrajectoryWriter
from benchflow.agents.scripted import ScriptedAgent
from benchflow.results.readers import atif
from benchflow.sandbox import Sandbox, debian


class Shell:
    """As much of Harbor's environment as the scripted agent uses: a real sandbox's exec."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    async def exec(self, command: str):
        from harbor.environments.base import ExecResult

        done = await asyncio.to_thread(self._box.exec, command)
        return ExecResult(stdout=done.text, stderr=done.error_text, return_code=done.status)


@pytest.mark.needs("sandbox")
def test_each_command_is_a_step_with_what_came_back(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text("echo one\nls /nowhere\n")
    agent = ScriptedAgent(logs_dir=tmp_path, script=str(script))
    with Sandbox.start(debian()) as box:
        asyncio.run(agent.run("Do it.", Shell(box), None))  # type: ignore[arg-type]
    trajectory = Trajectory.model_validate_json((tmp_path / NAME).read_text())
    assert [step.source for step in trajectory.steps] == ["user", "agent", "agent"]
    calls = [call.arguments["command"] for s in trajectory.steps for call in s.tool_calls or []]
    assert calls == ["echo one", "ls /nowhere"]
    read = list(atif.steps((tmp_path / NAME,)))
    assert read[1].calls[0].result == "one\n"
    assert "[exit status 2]" in read[2].calls[0].result


def test_a_trajectory_is_valid_after_every_step_and_adds_up_its_tokens(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path, "mine", "1", "some/model")
    writer.instruction("Do it.")
    for n in range(3):
        writer.command(f"echo {n}", str(n), message="next", tokens=(10, n))
        trajectory = Trajectory.model_validate_json((tmp_path / NAME).read_text())
        assert len(trajectory.steps) == n + 2
    writer.answer("Done.", tokens=(5, 5))
    trajectory = Trajectory.model_validate_json((tmp_path / NAME).read_text())
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_prompt_tokens == 35
    assert trajectory.final_metrics.total_completion_tokens == 8


@pytest.mark.parametrize("planted", ["symlink", "folder's own draft"])
def test_what_a_sandbox_planted_in_the_folder_is_not_followed(tmp_path: Path, planted: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    logs = tmp_path / "logs"
    logs.mkdir()
    name = NAME if planted == "symlink" else "trajectory.new"
    (logs / name).symlink_to(victim)
    TrajectoryWriter(logs, "mine", "1").instruction("Do it.")
    assert victim.read_text() == "untouched"
    assert not (logs / NAME).is_symlink()

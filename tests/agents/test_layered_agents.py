"""Each real agent program, from its layer, works in a sandbox without network and is counted.

The model is scripted, so every command and every token is known beforehand.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from layered_trials import ACCESS, COMMANDS, KEY, break_and_go_on, play, write_task

from benchflow.results.collect import collect, steps
from benchflow.scripted_model import of_commands

pytestmark = [
    pytest.mark.needs("sandbox", "mirror"),
    # Harbor warns of its own Task.checksum, which it calls in every trial.
    pytest.mark.filterwarnings("ignore:Task.checksum:DeprecationWarning"),
    # LiteLLM's types, at their first use in this process.
    pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning"),
]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ACCESS)
def test_the_real_agent_solves_a_task_by_a_scripted_model(agent: str, tmp_path: Path) -> None:
    task = write_task(tmp_path / "task")
    played = play(agent, of_commands(COMMANDS), task, tmp_path / "jobs")
    result = played.result
    assert result.exception_info is None
    assert result.verifier_result is not None
    assert result.verifier_result.rewards == {"reward": 1}
    assert result.agent_info.name == agent

    truth = played.totals[KEY].usage
    assert result.agent_result is not None
    assert result.agent_result.n_input_tokens == truth.input
    assert result.agent_result.n_output_tokens == truth.output
    assert played.trajectory.final_metrics is not None
    assert played.trajectory.final_metrics.total_prompt_tokens == truth.input

    (record,) = collect([tmp_path / "jobs"]).records
    by_agent = [step for step in steps(record) if step.role == "agent"]
    asked = [call.arguments for step in by_agent for call in step.calls]
    for command in COMMANDS:
        assert sum(command in arguments for arguments in asked) == 1
    assert sum(step.input_tokens or 0 for step in by_agent) == truth.input
    assert sum(step.output_tokens or 0 for step in by_agent) == truth.output
    assert record.steps == len(by_agent) == played.totals[KEY].answers


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli", "opencode"])
def test_an_agent_that_was_cut_off_goes_on_in_its_own_session(agent: str, tmp_path: Path) -> None:
    """What it had done is not done again: the model finds its place in the session's messages."""
    commands = [
        "echo first >> /app/out",
        "echo second >> /app/out; sleep 20",
        "echo third >> /app/out",
    ]
    written = asyncio.run(break_and_go_on(agent, commands, tmp_path)).split()
    assert written.count("first") == 1
    assert written[-1] == "third"

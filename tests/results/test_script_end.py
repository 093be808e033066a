"""A script of the task that dies is told with its status and last words, wherever its trial is."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from jobfolders import trial

from benchflow.authoring.gate_rules import oracle
from benchflow.cli.app import benchflow
from benchflow.results.jobs.script_end import script_end
from benchflow.results.jobs.trials import read_job

WORDS = "mformat: Too few clusters \x1b[31mfor 32 bit FAT"
SAFE = "mformat: Too few clusters"


def ended(job: Path, agent: str, log: str, text: str, status: str = "", **more: str) -> str:
    folder = trial(job, rewards={"reward": 0.0}, agent=agent, **more)
    (folder / "agent").mkdir()
    (folder / "agent" / log).write_text(text)
    if status:
        (folder / "agent" / "exit-code.txt").write_text(status)
    (found,) = read_job(job).trials
    return script_end(found)


@pytest.mark.parametrize("agent", ["ladder:boots", "exploit:printed", "exploit:*", "variant:tin"])
def test_a_milestone_or_an_exploit_that_failed(tmp_path: Path, agent: str) -> None:
    raised = "NonZeroAgentExitCodeError"
    said = ended(tmp_path, agent, "script.txt", f"one\n{WORDS}\n\n", exception=raised)
    assert said.startswith("its script ended with status other than 0, its last line: " + SAFE)
    assert said.endswith("(agent/script.txt)")
    assert "\x1b" not in said


def test_an_oracle_that_failed_is_told_by_results_and_by_its_gate(tmp_path: Path) -> None:
    said = ended(tmp_path / "job", "oracle", "oracle.txt", f"one\n{WORDS}\n", status="1")
    assert said.startswith("its script ended with status 1, its last line: " + SAFE)
    for more in ([], ["--details"]):
        shown = CliRunner().invoke(benchflow, ["results", str(tmp_path / "job"), *more])
        assert said in shown.output, shown.output
    (finding,) = oracle(read_job(tmp_path / "job").trials, 1).findings
    assert finding.endswith(said)


def test_what_ended_well_or_was_no_script_says_nothing(tmp_path: Path) -> None:
    assert ended(tmp_path / "a", "oracle", "oracle.txt", "all is well\n") == ""
    raised = "NonZeroAgentExitCodeError"
    assert ended(tmp_path / "b", "codex", "script.txt", "no\n", exception=raised) == ""


def test_a_log_that_is_a_link_or_missing_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host\n")
    folder = trial(tmp_path / "job", rewards={"reward": 0.0}, agent="oracle")
    (folder / "agent").mkdir()
    (folder / "agent" / "oracle.txt").symlink_to(secret)
    (folder / "agent" / "exit-code.txt").write_text("3")
    (found,) = read_job(tmp_path / "job").trials
    assert script_end(found) == "its script ended with status 3 (agent/oracle.txt)"

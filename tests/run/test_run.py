"""`benchflow run` on real sandboxes: any Harbor task, any agent, one table."""

from __future__ import annotations

import json
from pathlib import Path

import plain
import pytest
from plain import benchflow, run_json


def verdicts(job: dict[str, object]) -> dict[str, str]:
    trials = job["trials"]
    assert isinstance(trials, list)
    return {trial["agent"]: trial["verdict"] for trial in trials}


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("kind", [plain.shared, plain.separate, plain.steps])
def test_the_oracle_resolves_and_nop_does_not(kind: object, tmp_path: Path) -> None:
    """Schema 1.0 with a shared verifier, 1.4 with a separate one, and several steps."""
    assert callable(kind)
    kind(tmp_path / "task")
    job = run_json("run", "task", "-a", "nop", "-a", "oracle", cwd=tmp_path)
    assert verdicts(job) == {"nop": "failed", "oracle": "resolved"}
    assert job["problems"] == []
    assert json.loads((Path(job["path"]) / "benchflow.json").read_text())["schema"] == 1


@pytest.mark.needs("sandbox")
def test_a_person_sees_phases_a_table_and_what_to_do_next(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task")
    done = benchflow("run", "task", "--job-name", "mine", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0] == "job mine: 1 trial, 1 at once, in jobs/mine"
    limit = "(limit 1 min 00 s)"
    for phase in ("image", f"agent {limit}", "hand-over", f"verifier {limit}"):
        assert any(line.endswith(f"  {phase}") for line in lines), phase
    assert any("resolved, reward 1.00, in " in line for line in lines)
    assert "task  agent   verdict   reward" in done.stdout
    assert "1 trial: 1 resolved" in lines
    assert "where: jobs/mine" in lines
    assert done.stderr == ""
    again = benchflow("results", cwd=tmp_path).stdout
    assert "1 trial: 1 resolved" in again
    assert "evidence in" in benchflow("results", "mine", "--details", cwd=tmp_path).stdout


@pytest.mark.needs("sandbox")
def test_attempts_are_many_trials_of_one_job(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    job = run_json("run", "task", "-k", "3", "-n", "3", cwd=tmp_path)
    assert job["counts"] == {"resolved": 3, "failed": 0, "error": 0}
    assert job["planned"] == 3


@pytest.mark.needs("sandbox")
def test_the_ladder_agent_tells_the_oracle_where_to_stop(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    job = run_json("run", "task", "-a", "ladder", "--stop-after", "kernel", cwd=tmp_path)
    (trial,) = job["trials"]
    assert trial["agent"] == "ladder:kernel"
    assert (Path(trial["path"]) / "agent" / "script.txt").read_text() == "STOP_AFTER=kernel\n"


@pytest.mark.needs("sandbox")
def test_an_exploit_runs_in_place_of_the_solution_and_gains_nothing(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task")
    exploit = "#!/bin/bash\ncat /solution/solve.sh\necho 1 > /logs/verifier/reward.txt\nexit 3\n"
    plain.write(tmp_path / "task" / "exploits" / "forge.sh", exploit)
    job = run_json("run", "task", "-a", "exploit:forge", cwd=tmp_path)
    (trial,) = job["trials"]
    assert (trial["agent"], trial["verdict"]) == ("exploit:forge", "failed")
    assert trial["cause"] == "NonZeroAgentExitCodeError"
    assert plain.SOLVE in (Path(trial["path"]) / "agent" / "script.txt").read_text()


@pytest.mark.needs("sandbox")
def test_a_variant_runs_in_place_of_the_solution(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task")
    honest = "#!/bin/bash\n# The solution itself.\nbash /solution/solve.sh && ls /variants\n"
    plain.write(tmp_path / "task" / "variants" / "same.sh", honest)
    job = run_json("run", "task", "-a", "variant:same", cwd=tmp_path)
    (trial,) = job["trials"]
    assert (trial["agent"], trial["verdict"]) == ("variant:same", "resolved")
    assert (Path(trial["path"]) / "agent" / "script.txt").read_text().endswith("\nsame.sh\n")


@pytest.mark.needs("sandbox")
def test_the_scripted_agent_plays_its_file_to_the_end(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    play = tmp_path / "play.jsonl"
    commands = [
        {"run": "false"},
        {"run": "sleep 60", "timeout": 1},
        {"run": "echo do\necho ne"},
        {"run": "printf done > /app/out.txt"},
    ]
    play.write_text("".join(json.dumps(c) + "\n" for c in commands))
    job = run_json("run", "task", "-a", "scripted", "--script", "play.jsonl", cwd=tmp_path)
    (trial,) = job["trials"]
    assert trial["verdict"] == "resolved"
    log = (Path(trial["path"]) / "agent" / "scripted.jsonl").read_text().splitlines()
    played = [json.loads(line) for line in log]
    assert [p["status"] for p in played] == [1, None, 0, 0]
    assert played[2]["stdout"] == "do\nne\n"


@pytest.mark.needs("sandbox")
def test_an_agent_that_runs_out_of_time_is_judged_by_what_it_left(tmp_path: Path) -> None:
    plain.separate(tmp_path / "late", solve="#!/bin/bash\necho done > /app/out.txt\nsleep 100\n")
    plain.separate(tmp_path / "never", solve="#!/bin/bash\nsleep 100\n")
    job = run_json(
        "run", "late", "never", "-n", "2", "--agent-timeout-multiplier", "0.05", cwd=tmp_path
    )
    found = {t["task"]: (t["verdict"], t["cause"]) for t in job["trials"]}
    assert found == {
        "late": ("resolved", "AgentTimeoutError"),
        "never": ("failed", "AgentTimeoutError"),
    }


@pytest.mark.needs("sandbox")
def test_a_verifier_that_writes_no_reward_is_an_error_and_not_a_failure(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task", test="#!/bin/bash\nexit 3\n")
    job = run_json("run", "task", cwd=tmp_path, status=4)
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["cause"]) == ("error", "RewardFileNotFoundError")


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize(
    "act",
    ["rm -rf /logs", "ln -sf /bin/true /bin/cat; rm -f /bin/bash", "rm -rf /tests; : > /tests"],
)
def test_a_verifier_in_the_agents_sandbox_is_the_agents_to_break(tmp_path: Path, act: str) -> None:
    """Whoever cannot win would else only have to see to it that nobody is judged."""
    plain.shared(tmp_path / "task", solve=f"#!/bin/bash\n{act}\n", test=plain.TEST)
    job = run_json("run", "task", cwd=tmp_path)
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["reward"]) == ("failed", 0.0)
    if "logs" in act:
        assert "left no reward" in trial["cause_message"]


def test_an_image_that_cannot_be_built_is_an_error_and_not_a_failure(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    plain.write(
        tmp_path / "task" / "environment" / "Dockerfile", "FROM debian:bookworm\nRUN false\n"
    )
    job = run_json("run", "task", "-a", "nop", cwd=tmp_path, status=4)
    (trial,) = job["trials"]
    assert trial["verdict"] == "error"
    assert trial["cause"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["-a", "oralce"], "no agent 'oralce'", "did you mean oracle?"),
        (["-a", "claude-code"], "the agent claude-code has no model", "--model PROVIDER/NAME"),
        (["-a", "no.such:Agent"], "no agent 'no.such:Agent'", "no.such"),
        (["-a", "ladder"], "which milestone?", "--stop-after MILESTONE"),
        (["-a", "exploit:x"], "task has no exploit 'x'", "it has: none"),
        (["-a", "variant:x"], "task has no variant 'x'", "it has: none"),
        (["-a", "variant:*"], "none of its variants declares incremental", "variant:NAME"),
        (["-a", "scripted"], "needs a file of commands", "--script FILE"),
        (["--sandbox", "dcoker"], "no sandbox 'dcoker'", "docker"),
        (["--sandbox", "no.such:Box"], "no sandbox 'no.such:Box'", "no.such"),
        (["--job-name", "../x"], "is not a folder's name", ""),
        (["--hint", "1"], "have no hints", "leave --hint out"),
        (["--agent-env", "x"], "'x' is not KEY=VALUE", ""),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    arguments: list[str], message: str, hint: str, tmp_path: Path
) -> None:
    plain.shared(tmp_path / "task")
    done = benchflow("run", "task", *arguments, cwd=tmp_path, status=2)
    assert message in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "jobs").exists()


def test_a_task_that_is_wrong_is_named_and_nothing_starts(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    (tmp_path / "task" / "task.toml").write_text("version = ")
    done = benchflow("run", "task", cwd=tmp_path, status=3)
    assert "task.toml" in done.stderr
    assert not (tmp_path / "jobs").exists()


@pytest.mark.needs("sandbox")
def test_a_job_of_that_name_is_not_run_over(tmp_path: Path) -> None:
    plain.shared(tmp_path / "task")
    benchflow("run", "task", "-a", "nop", "--job-name", "x", cwd=tmp_path)
    done = benchflow("run", "task", "-a", "nop", "--job-name", "x", cwd=tmp_path, status=2)
    assert "this job exists" in done.stderr
    assert "benchflow resume x" in done.stderr

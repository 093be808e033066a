"""A trial that is cut off while its agent works goes on where it was, if the agent can do that."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harbor.agents.installed.base import NonZeroAgentExitCodeError
from harbor.models.agent.context import AgentContext
from tests import warm_command
from tests.run.asking import Asking
from tests.run.ours import CHECKS, words
from tests.run.plain import BENCHFLOW, hear, kill_all, owners

from benchflow.errors import InfrastructureError
from benchflow.results.jobs import lock
from benchflow.results.jobs.trials import read_trial
from benchflow.run.resume.session_resume import Ending, Kept, end_again, go_on, marker, sandbox_name
from benchflow.sandbox import cleanup, paths

pytestmark = pytest.mark.needs("sandbox")

HERE = Path(__file__).parent
#: The second answer is slow, so that the first command is done and the second is not.
POLICY = """schema = 1
[usage]
input = 1000
output = 50
[[turns]]
run = "mkdir -p out; echo one > out/words.txt; echo x >> /root/once"
[[turns]]
run = "grep -c x /root/once | grep -qx 1 && echo one two three > out/words.txt"
fault = { kind = "slow", seconds = 9 }
[[turns]]
say = "Done."
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def start(place: Path, agent: str) -> subprocess.Popen[str]:
    command = ["run", "test/words", "-a", agent, "-m", "scripted/policy.toml"]
    return subprocess.Popen(
        [BENCHFLOW, *command, "--job-name", "job"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear,
    )


def begin(place: Path, agent: str = "asking:Remembering") -> subprocess.Popen[str]:
    """A job of one trial, whose agent waits for its model's second answer."""
    process = start(place, agent)
    ledger = place / "jobs" / "job" / "calls.jsonl"
    until(lambda: ledger.exists() and ledger.read_text().count('"event":"begin"') == 2, process)
    time.sleep(2.5)  # longer than the clock needs that says how long the agent has worked
    return process


def until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.05)


def resume(place: Path, *options: str, status: int = 0) -> tuple[dict[str, Any], str]:
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    done = warm_command.run(["resume", "job", "--json", *options], cwd=place, env=env)
    assert done.returncode == status, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    (trial,) = job["trials"]
    return trial, done.stderr


def only_trial(job: Path) -> Path:
    (trial,) = (path for path in job.iterdir() if path.is_dir())
    return trial


def kill_worker(process: subprocess.Popen[str], job: Path) -> None:
    kill_all(process, job)


def stop(process: subprocess.Popen[str], job: Path) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130


@pytest.mark.parametrize("end", [kill_worker, stop])
def test_the_session_goes_on_in_the_sandbox_that_was_kept(
    place: Path, end: Callable[[subprocess.Popen[str], Path], None]
) -> None:
    job = place / "jobs" / "job"
    process = begin(place)
    trial = only_trial(job)
    end(process, job)
    process.communicate()
    cleanup.gc()  # what every next command does
    assert sandbox_name(trial) in cleanup.kept()
    found, said = resume(place)
    assert "its agent's session continues in the sandbox that was kept" in said
    assert (found["name"], found["verdict"]) == (trial.name, "resolved")
    # Had it started anew, the policy's first command would have been asked for once more.
    calls = [json.loads(line) for line in (job / "calls.jsonl").read_text().splitlines()]
    answered = [call for call in calls if call["event"] == "call" and call["outcome"] == "answered"]
    assert {call["trial"] for call in answered} == {trial.name}
    totals = json.loads((trial / "model.json").read_text())
    assert totals["turns"] == len(answered) == 4  # the one that was under way, too
    assert totals["tokens"] == 1050 * totals["turns"]
    continued = json.loads((trial / "continued.json").read_text())
    assert continued["parts"] == 2
    assert 2.0 <= continued["agent_seconds_before"] < 60
    assert found["phases"]["parts"] == 2
    assert found["phases"]["agent"] > continued["agent_seconds_before"]
    assert not marker(trial).exists()
    assert not (paths.sandboxes() / sandbox_name(trial)).exists()


def test_a_session_that_cannot_be_read_is_an_error_and_then_begun_anew(place: Path) -> None:
    job = place / "jobs" / "job"
    process = begin(place)
    trial = only_trial(job)
    kill_worker(process, job)
    process.communicate()
    cleanup.gc()
    (session,) = (paths.sandboxes() / sandbox_name(trial)).glob("fs/**/root/session.json")
    session.write_text("")
    found, _ = resume(place, status=4)
    assert found["verdict"] == "error"
    assert "could not continue its session" in found["cause_message"]
    found, said = resume(place, "--errors")
    assert "it starts from scratch" in said
    assert (found["name"] != trial.name, found["verdict"]) == (True, "resolved")


def test_a_sandbox_that_died_is_gone_on_with_on_demand(place: Path) -> None:
    job = place / "jobs" / "job"
    process = begin(place)
    trial = only_trial(job)
    owner = json.loads((paths.sandboxes() / sandbox_name(trial) / "owner.json").read_text())
    os.kill(owner["init"], signal.SIGKILL)
    process.communicate(timeout=120)
    assert json.loads((trial / "result.json").read_text())["exception_info"]
    assert sandbox_name(trial) in cleanup.kept()
    found, said = resume(place, "--errors")
    assert "its agent's session continues" in said
    assert (found["name"], found["verdict"]) == (trial.name, "resolved")


def test_an_agent_without_sessions_starts_anew_and_it_is_said(place: Path) -> None:
    job = place / "jobs" / "job"
    process = begin(place, "asking:Asking")
    trial = only_trial(job)
    kill_worker(process, job)
    process.communicate()
    found, said = resume(place)
    assert "it starts from scratch: its agent was not at work, or cannot continue a session" in said
    assert found["verdict"] == "resolved"
    assert found["name"] != trial.name
    assert not (paths.sandboxes() / sandbox_name(trial)).exists()


def test_time_that_was_used_is_gone(place: Path) -> None:
    job = place / "jobs" / "job"
    process = begin(place)
    trial = only_trial(job)
    kill_worker(process, job)
    process.communicate()
    assert not lock.is_held(job)
    record = json.loads(marker(trial).read_text())
    marker(trial).write_text(json.dumps({**record, "spent": record["limit"] + 1}))
    found, _ = resume(place)
    assert (found["verdict"], found["cause"]) == ("failed", "AgentTimeoutError")


class Quitting(Asking):
    """Ends with an error instead of going on."""

    async def resume(self, *given: object) -> None:
        raise RuntimeError("no more")


@pytest.mark.parametrize(
    ("turns", "exhausted", "raised"),
    [((1, 1), "", InfrastructureError), ((1, 2), "", RuntimeError), ((2, 2), "usd", RuntimeError)],
    ids=["no session", "worked on", "budget spent"],
)
def test_an_agent_that_ends_without_an_answer_had_no_session_unless_its_budget_is_spent(
    tmp_path: Path, turns: tuple[int, int], exhausted: str, raised: type[Exception]
) -> None:
    kept = Kept(trial="t", config={}, limit=0, spent=0, began=0, parts=0)
    told = iter({"turns": n, "budget_exhausted": exhausted} for n in turns)
    agent = Quitting(logs_dir=tmp_path, model_name="m")
    with pytest.raises(raised):
        asyncio.run(go_on(agent, None, AgentContext(), kept, lambda: next(told)))  # type: ignore[arg-type]


#: Answers at once, so that the agent is done when the job is killed.
QUICK = """schema = 1
[usage]
input = 1000
output = 50
[[turns]]
run = "mkdir -p out; echo one two three > out/words.txt; echo x >> /root/once"
[[turns]]
say = "Done."
"""
SLOW_CHECKS = CHECKS.replace('    assert "one"', '    time.sleep(8)\n    assert "one"')


def begin_verifying(
    place: Path, agent: str = "asking:Remembering", policy: str = QUICK
) -> subprocess.Popen[str]:
    """A job of one trial, whose agent has ended and whose verifier is at work."""
    (place / "policy.toml").write_text(policy)
    (place / "test" / "words" / "tests" / "checks.py").write_text(f"import time\n{SLOW_CHECKS}")
    process = start(place, agent)
    journal = place / "jobs" / "job" / "phases.jsonl"
    until(lambda: journal.exists() and '"boot"' in journal.read_text(), process)
    until(lambda: verifiers(place / "jobs" / "job"), process)
    time.sleep(2)
    return process


def verifiers(job: Path) -> list[dict[str, Any]]:
    """Owners' records of the job's sandboxes, but that of its one trial."""
    agents, worker = sandbox_name(only_trial(job)), lock.holder(job)
    others = [owner for name, owner in owners().items() if name != agents]
    return [owner for owner in others if owner["pid"] == worker and owner.get("init")]


def answers(job: Path) -> int:
    calls = [json.loads(line) for line in (job / "calls.jsonl").read_text().splitlines()]
    return sum(call["event"] == "call" for call in calls)


@pytest.mark.parametrize("end", [kill_worker, stop])
def test_what_an_agent_left_is_verified_when_its_trial_is_cut_off_after_its_end(
    place: Path, end: Callable[[subprocess.Popen[str], Path], None]
) -> None:
    job = place / "jobs" / "job"
    process = begin_verifying(place)
    trial = only_trial(job)
    end(process, job)
    process.communicate()
    cleanup.gc()
    asked = answers(job)
    found, said = resume(place)
    assert "its agent had ended: what it left in the sandbox that was kept is verified" in said
    assert (found["name"], found["verdict"]) == (trial.name, "resolved")
    assert answers(job) == asked == 2
    assert json.loads((trial / "model.json").read_text())["turns"] == 2
    continued = json.loads((trial / "continued.json").read_text())
    assert continued["parts"] == found["phases"]["parts"] == 1
    assert found["phases"]["agent"] >= continued["agent_seconds_before"] > 0
    assert not marker(trial).exists()
    assert not (paths.sandboxes() / sandbox_name(trial)).exists()


def test_an_agent_that_was_out_of_time_is_so_after_a_kill_too(place: Path) -> None:
    config = place / "test" / "words" / "task.toml"
    config.write_text(config.read_text().replace("timeout_sec = 60", "timeout_sec = 5"))
    job = place / "jobs" / "job"
    policy = QUICK.replace('say = "Done."', 'run = "true"\nfault = { kind = "slow", seconds = 20 }')
    process = begin_verifying(place, policy=policy)
    trial = only_trial(job)
    kill_worker(process, job)
    found, _ = resume(place)
    assert (found["name"], found["verdict"]) == (trial.name, "resolved")
    assert found["exception"] == "AgentTimeoutError"
    assert 5 <= found["phases"]["agent"] < 20


def test_after_a_verifier_that_broke_only_the_verification_is_done_again(place: Path) -> None:
    job = place / "jobs" / "job"
    process = begin_verifying(place)
    trial = only_trial(job)
    (verifier,) = verifiers(job)
    os.kill(verifier["init"], signal.SIGKILL)
    process.communicate(timeout=120)
    assert read_trial(trial)[0].verdict == "error"
    assert sandbox_name(trial) in cleanup.kept()
    found, said = resume(place, "--errors")
    assert "its agent had ended" in said
    assert (found["name"], found["verdict"]) == (trial.name, "resolved")
    assert answers(job) == 2
    assert not (paths.sandboxes() / sandbox_name(trial)).exists()


@pytest.mark.parametrize(("agent", "status"), [("Yielding", 401), ("Printing", 400)])
def test_work_that_a_failing_model_ended_is_begun_anew(
    place: Path, agent: str, status: int
) -> None:
    fault = f'say = "."\nfault = {{ kind = "status", status = {status} }}'
    policy = QUICK.replace('say = "Done."', fault)
    (place / "policy.toml").write_text(policy.replace("one two three", "one two"))
    process = start(place, f"asking:{agent}")
    process.communicate(timeout=180)
    job = place / "jobs" / "job"
    trial = only_trial(job)
    assert read_trial(trial)[0].verdict == "error"
    assert not marker(trial).exists()
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    done = warm_command.run(["resume", "job", "--errors"], cwd=place, env=env)
    assert "it starts from scratch" in done.stderr
    assert only_trial(job).name != trial.name
    assert answers(job) == 4


def test_a_sandbox_is_not_kept_once_its_trial_is_judged(place: Path) -> None:
    """Nor where the kill came between the result and the end of the trial."""
    process = begin_verifying(place)
    job = place / "jobs" / "job"
    trial = only_trial(job)
    kept = marker(trial).read_text()
    process.communicate(timeout=120)
    assert not marker(trial).exists()
    assert not (paths.sandboxes() / sandbox_name(trial)).exists()
    marker(trial).write_text(kept)
    resume(place)
    assert not marker(trial).exists()


def test_an_agent_ends_again_as_it_ended() -> None:
    end_again(Ending("", ""))
    with pytest.raises(TimeoutError):
        end_again(Ending("AgentTimeoutError", "after 5 s"))
    with pytest.raises(NonZeroAgentExitCodeError, match="still") as caught:
        end_again(Ending("AgentStalled", "still for an hour"))
    assert type(caught.value).__name__ == "AgentStalled"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli", "opencode"])
def test_a_real_agent_goes_on_with_its_session(place: Path, agent: str) -> None:
    config = place / "test" / "words" / "task.toml"
    config.write_text(config.read_text().replace("memory_mb = 256", "memory_mb = 2048"))
    config.write_text(config.read_text().replace("timeout_sec = 60", "timeout_sec = 600"))
    (place / "policy.toml").write_text(POLICY.replace("= 9 }", "= 15 }"))
    job = place / "jobs" / "job"
    process = begin(place, agent)
    trial = only_trial(job)
    kill_worker(process, job)
    process.communicate()
    found, said = resume(place)
    assert "its agent's session continues in the sandbox that was kept" in said
    assert (found["name"], found["verdict"]) == (trial.name, "resolved"), found["cause_message"]
    done = (trial / "agent" / "trajectory.json").read_text()
    assert "echo x >> /root/once" in done
    assert "You were interrupted" in done
    assert "grep -c x /root/once" in done


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["mini-swe-agent", "claude-code"])
def test_what_a_real_agent_left_is_verified_after_a_kill(place: Path, agent: str) -> None:
    """One that cannot take up a session, too: its session is over."""
    config = place / "test" / "words" / "task.toml"
    config.write_text(config.read_text().replace("memory_mb = 256", "memory_mb = 2048"))
    config.write_text(config.read_text().replace("timeout_sec = 60", "timeout_sec = 600"))
    job = place / "jobs" / "job"
    process = begin_verifying(place, agent)
    trial = only_trial(job)
    kill_worker(process, job)
    asked = answers(job)
    found, said = resume(place)
    assert "its agent had ended" in said
    assert (found["name"], found["verdict"]) == (trial.name, "resolved"), found["cause_message"]
    assert answers(job) == asked
    assert "echo x >> /root/once" in (trial / "agent" / "trajectory.json").read_text()
    assert found["usage"]["output_tokens"] == 50 * asked

"""An agent that hangs is ended by its progress, and one that works in silence is left alone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.run.ours import words
from tests.run.plain import benchflow, run_json

from benchflow.errors import InfrastructureError
from benchflow.run.job.stall import (
    CPU_SHARE,
    RECEIVED,
    AgentStalled,
    Signs,
    Stillness,
    ended_when_still,
)
from benchflow.run.resume.proc_activity import cpu_seconds, log_state

HERE = Path(__file__).parent
#: Uses a second of processor time and says so. (The kernel's ticks may count a little less.)
BUSY = "import time\nwhile time.process_time() < 1: pass\nprint('done', flush=True)\n"


@pytest.mark.parametrize(
    "after",
    [
        Signs(events=(1,)),
        Signs(cpu=CPU_SHARE * 10),
        Signs(received=RECEIVED * 10),
        Signs(in_call=True),
    ],
    ids=["event", "work", "download", "call under way"],
)
def test_any_sign_of_progress_starts_the_time_anew(after: Signs) -> None:
    stillness = Stillness(every=10)
    stillness.look(0, Signs())
    assert stillness.look(10, Signs()) == 10
    assert stillness.look(20, after) == 0
    assert stillness.look(30, after) == (0 if after.in_call else 10)


def test_what_a_waiting_program_uses_is_no_progress() -> None:
    stillness = Stillness(every=10)
    for look in range(11):
        signs = Signs(cpu=look * 10 * CPU_SHARE * 0.9, received=int(look * 10 * RECEIVED * 0.9))
        still = stillness.look(look * 10, signs)
    assert still == 100


def test_time_in_which_nobody_looked_is_not_held_against_the_agent() -> None:
    stillness = Stillness(every=10)
    stillness.look(0, Signs())
    assert stillness.look(100_000, Signs()) == 20


def ended(read: Signs, body: object, seconds: float = 0.01) -> None:
    async def main() -> None:
        with ended_when_still(seconds, lambda: read):
            await body()  # type: ignore[operator]

    asyncio.run(main())


def test_an_agent_that_waits_forever_is_ended() -> None:
    with pytest.raises(AgentStalled, match=r"no progress for 1 s: no call to a model"):
        ended(Signs(), asyncio.Event().wait)


def test_an_agent_that_takes_the_end_for_a_passing_trouble_is_ended() -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    with pytest.raises(AgentStalled):
        ended(Signs(), stubborn)


def test_what_is_not_the_agents_fault_is_not_its_failure() -> None:
    with pytest.raises(InfrastructureError, match="the model gateway is gone"):
        ended(Signs(lost="the model gateway is gone"), asyncio.Event().wait)


def test_an_agents_own_end_is_its_own() -> None:
    async def fails() -> None:
        raise ValueError("mine")

    async def soon() -> None:
        await asyncio.sleep(0)

    ended(Signs(), soon, 1000)
    with pytest.raises(ValueError, match="mine"):
        ended(Signs(), fails, 1000)


def test_a_job_that_is_interrupted_is_not_a_stall() -> None:
    async def main() -> None:
        async def trial() -> None:
            with ended_when_still(1000, Signs):
                await asyncio.Event().wait()

        task = asyncio.create_task(trial())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_work_of_programs_that_have_ended_is_counted() -> None:
    script = f'{sys.executable} -c "$1"; read rest'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"done\n"
    # bash counts a child once it has waited for it, which may be a moment after its last word.
    deadline = time.monotonic() + 120
    while cpu_seconds(process.pid) < 0.5:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.communicate()
    assert cpu_seconds(process.pid) == 0


def test_a_log_that_grows_shows_and_no_link_is_followed(tmp_path: Path) -> None:
    log = tmp_path / "root" / "logs" / "agent"
    log.mkdir(parents=True)
    states = [log_state(tmp_path / "root", "logs", "agent")]
    (log / "deep").mkdir()
    (log / "deep" / "session.jsonl").write_text("one\n")
    states.append(log_state(tmp_path / "root", "logs", "agent"))
    with (log / "deep" / "session.jsonl").open("a") as file:
        file.write("two\n")
    states.append(log_state(tmp_path / "root", "logs", "agent"))
    assert len(set(states)) == 3
    (tmp_path / "secret").write_text("x" * 1_000_000)
    (log / "link").symlink_to(tmp_path)
    assert log_state(tmp_path / "root", "logs", "agent")[1] < 1_000_000
    (tmp_path / "root" / "also").symlink_to(log)
    assert log_state(tmp_path / "root", "also") == (0, 0, 0)
    for n in range(1000):
        (log / f"{n}").touch()
    assert log_state(tmp_path / "root", "logs", "agent")[0] == 500


@pytest.mark.needs("sandbox")
def test_an_agent_that_hangs_at_zero_tokens_fails(tmp_path: Path) -> None:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text('schema = 1\n[[turns]]\nsay = "Done."\n')
    job = run_json(
        "run", "test/words", "-a", "asking:Hanging", "-m", "scripted/policy.toml",
        "--stall-minutes", "0.05", "--job-name", "job",
        cwd=tmp_path, PYTHONPATH=str(HERE),
    )  # fmt: skip
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["cause"], trial["reward"]) == ("failed", "AgentStalled", 0)
    assert trial["cause_message"].startswith("no progress for 3 s: no call to a model")
    (totals,) = (tmp_path / "jobs" / "job").glob("*/model.json")
    assert json.loads(totals.read_text())["tokens"] == 0
    shown = benchflow("results", "job", "--details", cwd=tmp_path).stdout
    assert "failed, reward 0.000 (AgentStalled: no progress for 3 s" in shown


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_what_a_stalled_agent_left_is_verified(tmp_path: Path) -> None:
    words(tmp_path)
    (tmp_path / "script").write_text("mkdir out; echo one > out/words.txt\nsleep 86399\n")
    job = run_json(
        "run", "test/words", "-a", "scripted:script", "--stall-minutes", "0.3", cwd=tmp_path
    )
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["cause"]) == ("failed", "AgentStalled")
    assert trial["furthest"] == "one"


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_a_silent_command_that_works_and_a_slow_answer_are_no_stall(tmp_path: Path) -> None:
    words(tmp_path)
    works = "timeout 25 sh -c 'while :; do :; done'; mkdir out; echo one two three > out/words.txt"
    slow = 'fault = { kind = "slow", seconds = 25 }'
    (tmp_path / "policy.toml").write_text(
        f'schema = 1\n[[turns]]\nrun = "true"\n{slow}\n'
        f'[[turns]]\nrun = "{works}"\n[[turns]]\nsay = "Done."\n'
    )
    job = run_json(
        "run", "test/words", "-a", "asking:Asking", "-m", "scripted/policy.toml",
        "--stall-minutes", "0.3", "--agent-timeout-multiplier", "10",
        cwd=tmp_path, PYTHONPATH=str(HERE),
    )  # fmt: skip
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["cause"]) == ("resolved", "")


def test_it_is_said_where_nobody_can_see_progress(tmp_path: Path) -> None:
    words(tmp_path)
    done = benchflow(
        "run", "test/words", "--sandbox", "docker", "--stall-minutes", "5", cwd=tmp_path, status=2
    )
    assert "is seen in the namespace sandbox, not in docker" in done.stderr

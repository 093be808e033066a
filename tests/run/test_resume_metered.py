"""A job whose orchestrator was killed goes on with its gateway, its totals and nobody else's."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.run.ours import words
from tests.run.plain import BENCHFLOW, kill_all, run_json

from benchflow.base.process_identity import Process
from benchflow.gateway.accounts.totals import replay
from benchflow.run.sweep.sweep_budget import spent_in

pytestmark = pytest.mark.needs("sandbox")

HERE = Path(__file__).parent
#: Three answers in each trial: 1,000 tokens in and 50 out, 0.0015 dollars by the scripted price.
TRUTH = {"turns": 3, "tokens": 3150, "usd": 0.0045, "lost_calls": 0, "budget_exhausted": ""}
POLICY = """schema = 1
[usage]
input = 1000
output = 50
[[turns]]
run = "mkdir -p out; echo one > out/words.txt"
[[turns]]
run = "echo one two three > out/words.txt"
fault = { kind = "slow", seconds = SLOW }
[[turns]]
say = "Done."
"""
COMMAND = ("-a", "asking:Asking", "-m", "scripted/policy.toml", "--job-name", "job")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY.replace("SLOW", "0.1"))
    return tmp_path


def totals(job: Path) -> dict[str, dict[str, Any]]:
    found = {path.parent.name: json.loads(path.read_text()) for path in job.glob("*/model.json")}
    return {name: {key: each[key] for key in TRUTH} for name, each in found.items()}


def gateway_files(job: Path) -> set[str]:
    return {path.name for path in (job.parent / ".gateway" / job.name).iterdir()}


def test_totals_that_a_kill_kept_from_being_written_are_written_later(place: Path) -> None:
    run_json("run", "test/words", *COMMAND, "-k", "2", cwd=place, PYTHONPATH=str(HERE))
    job = place / "jobs" / "job"
    before = totals(job)
    assert [*before.values()] == [TRUTH, TRUTH]
    assert not gateway_files(job) & {"secret", "gateway.json"}
    (lost := min(job.glob("*/model.json"))).unlink()
    result = (lost.parent / "result.json").stat()
    found = run_json("resume", "job", cwd=place, PYTHONPATH=str(HERE))
    assert found["counts"] == {"resolved": 2, "failed": 0, "error": 0}
    assert totals(job) == before
    assert (lost.parent / "result.json").stat() == result
    assert not gateway_files(job) & {"secret", "gateway.json"}


@pytest.mark.slow
def test_a_killed_job_goes_on_and_every_trial_has_its_own_totals(place: Path) -> None:
    (place / "policy.toml").write_text(POLICY.replace("SLOW", "5"))
    job = place / "jobs" / "job"
    ledger = job / "calls.jsonl"
    process = subprocess.Popen(
        [BENCHFLOW, "run", "test/words", *COMMAND, "-k", "3", "-n", "1"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 180
    # The fifth call is the second trial's slow one.
    while not ledger.exists() or ledger.read_text().count('"event":"begin"') < 5:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    kill_all(process, job)
    (kept,) = job.glob("*/model.json")
    stood = {name: (kept.parent / name).stat() for name in ("result.json", "model.json")}
    address = json.loads((job.parent / ".gateway" / "job" / "gateway.json").read_text())
    gateway = Process(address["pid"], address["started"])
    assert gateway.alive

    found = run_json("resume", "job", cwd=place, PYTHONPATH=str(HERE))
    assert found["counts"] == {"resolved": 3, "failed": 0, "error": 0}
    assert [*totals(job).values()] == [TRUTH] * 3
    assert {name: (kept.parent / name).stat() for name in stood} == stood
    # What the trial that was cut off had asked for was answered, counted and paid for.
    tallies = replay(ledger).tallies
    (cut,) = (
        set(tallies) - {path.parent.name for path in job.glob("*/result.json")} - {"(this process)"}
    )
    assert tallies[cut].summary()["tokens"] == 2100
    assert tallies[cut].closed and tallies[cut].lost == 0
    spent = spent_in([job])
    assert (spent.tokens, spent.usd) == (3 * 3150 + 2100, pytest.approx(3 * 0.0045 + 0.003))
    assert not gateway.alive
    assert not gateway_files(job) & {"secret", "gateway.json"}


@pytest.mark.slow
def test_a_job_that_was_killed_before_its_gateway_came_up(place: Path) -> None:
    """The gateway's configuration is written before the job's record, so that it can be resumed."""
    run_json("run", "test/words", *COMMAND, cwd=place, PYTHONPATH=str(HERE))
    job = place / "jobs" / "job"
    for path in job.iterdir():
        if path.is_dir() or path.name not in ("benchflow.json",):
            subprocess.run(["rm", "-rf", str(path)], check=True)
    (job.parent / ".gateway" / "job" / "gateway.log").unlink()
    found = run_json("resume", "job", cwd=place, PYTHONPATH=str(HERE))
    assert found["counts"] == {"resolved": 1, "failed": 0, "error": 0}
    assert [*totals(job).values()] == [TRUTH]

"""A sweep's budget: what has started is finished, nothing more starts, and a raised one goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.run.ours import words
from tests.run.plain import benchflow

from benchflow.run.sweep.sweep_budget import Purse, Spent

HERE = Path(__file__).parent
#: Each trial makes two calls: 1,000 in and 50 out each, 0.0015 dollars by the scripted price.
TOKENS, DOLLARS = 2100, 0.003
POLICY = """schema = 1
[usage]
input = 1000
output = 50
[[turns]]
run = "mkdir -p out; echo one > out/words.txt"
[[turns]]
say = "Done."
"""
FILE = """tasks = ["./test/words"]
attempts = 4
{budget}
[[entry]]
agent = "asking:Asking"
models = ["scripted/policy.toml"]
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "first.toml"


def call(file: Path, budget: str, *options: str, concurrent: int = 1) -> Any:
    file.write_text(FILE.format(budget=f"concurrent = {concurrent}\n{budget}"))
    done = benchflow("sweep", str(file), *options, cwd=file.parent, PYTHONPATH=str(HERE))
    return json.loads(done.stdout) if "--json" in options else done.stdout


def results(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("jobs/*/*/result.json")}


@pytest.mark.parametrize(
    ("purse", "spent", "bound", "why"),
    [
        (Purse(), Spent(10**6, 10**9), Spent(), ""),
        (Purse(usd=5), Spent(4.99), Spent(), ""),
        (Purse(usd=5), Spent(5.0), Spent(), "the sweep has spent $5.00 of $5.00"),
        (
            Purse(usd=5), Spent(1.0), Spent(4.0),
            "the sweep has spent $1.00 of $5.00, and running trials may spend $4.00 more",
        ),
        (Purse(tokens=9), Spent(0, 10), Spent(), "the sweep has spent 10 tokens of 9"),
        (
            Purse(tokens=9), Spent(0, 4), Spent(0, 5),
            "the sweep has spent 4 tokens of 9, and running trials may spend 5 more",
        ),
        (Purse(tokens=9), Spent(0, 4), Spent(0, 4), ""),
    ],
)  # fmt: skip
def test_when_nothing_more_may_start(purse: Purse, spent: Spent, bound: Spent, why: str) -> None:
    assert purse.over(spent, bound) == why


def test_the_budget_must_be_one_that_can_be_kept(sweep: Path) -> None:
    model = "http://127.0.0.1:9/v1#m"
    sweep.write_text(FILE.format(budget="max_usd = 1").replace("scripted/policy.toml", model))
    done = benchflow("sweep", str(sweep), cwd=sweep.parent, status=2, PYTHONPATH=str(HERE))
    assert f"the price of {model} is not known" in done.stderr
    sweep.write_text(FILE.format(budget='[[limit]]\nmodel = "openai/x"\nrpm = 3'))
    done = benchflow("sweep", str(sweep), cwd=sweep.parent, status=2, PYTHONPATH=str(HERE))
    assert "limits for openai/x, which no agent here uses" in done.stderr
    assert not results(sweep.parent)


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_a_spent_budget_starts_nothing_more_and_a_raised_one_goes_on(sweep: Path) -> None:
    small = f"max_tokens = {TOKENS + 1}"
    found = call(sweep, small, "--json")
    assert (found["planned"], found["finished"]) == (4, 2)
    spent = {"usd": pytest.approx(2 * DOLLARS), "tokens": 2 * TOKENS, "unknown": 0}
    assert found["spent"] == spent
    assert found["stopped"] == "the sweep has spent 4,200 tokens of 2,101"
    before = results(sweep.parent)
    assert len(before) == 2

    plan = call(sweep, small, "--plan")
    assert "spent: $0.006, 4,200 of 2,101 tokens." in plan
    assert "2 trials not started: the sweep has spent 4,200 tokens of 2,101." in plan
    assert "2 trials not started" in call(sweep, small)
    assert results(sweep.parent) == before

    limit = '\n[trial]\nmax_turns = 9\n[[limit]]\nmodel = "scripted/policy.toml"\nrpm = 1000'
    done = call(sweep, "max_usd = 1" + limit, "--json")
    assert (done["finished"], done["stopped"], len(done["jobs"])) == (4, "", 1)
    assert before.items() <= results(sweep.parent).items()
    assert done["spent"]["tokens"] == 4 * TOKENS
    ledger = (sweep.parent / "jobs" / "first-1" / "calls.jsonl").read_text().splitlines()
    budgets = [record["budget"] for line in ledger if (record := json.loads(line)).get("model")]
    # What the file says now holds for the trials that are still to come.
    assert {"usd": 1.0, "turns": 9} in budgets


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_what_running_trials_may_spend_is_set_aside(sweep: Path) -> None:
    budget = f"max_tokens = {2 * TOKENS}\n[trial]\nmax_tokens = {TOKENS}"
    found = call(sweep, budget, "--json", concurrent=4)
    assert (found["finished"], found["spent"]["tokens"]) == (2, 2 * TOKENS)

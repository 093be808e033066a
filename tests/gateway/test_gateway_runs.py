"""`benchflow run` behind the gateway, with a real agent program and the scripted model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchflow.scripted_model import ScriptedModel, of_commands

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


BENCHFLOW = str(Path(sys.executable).parent / "benchflow")
SECRET = "sk-real-key-of-a-provider-4711"
SOLVE = ["echo working", "printf hello > /app/out.txt", "cat /app/out.txt"]
TEST = """#!/bin/sh
if [ "$(cat /app/out.txt 2>/dev/null)" = hello ]; then r=1; else r=0; fi
echo "{\\"reward\\": $r}" > /logs/verifier/reward.json
"""
AGENTS = ("claude-code", "codex", "gemini-cli", "opencode", "mini-swe-agent", "terminus-2")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a task whose reward is 1 when /app/out.txt says hello."""
    task = tmp_path / "task"
    for name in ("environment", "tests"):
        (task / name).mkdir(parents=True)
    (task / "task.toml").write_text(
        'schema_version = "1.4"\nartifacts = ["/app/out.txt"]\n[task]\nname = "test/hello"\n'
        "[agent]\ntimeout_sec = 300\n[verifier]\ntimeout_sec = 120\n"
        'environment_mode = "separate"\n'
        '[environment]\ncpus = 1\nmemory_mb = 2048\nnetwork_mode = "no-network"\n'
    )
    (task / "instruction.md").write_text("Say hello in /app/out.txt.\n")
    (task / "environment/Dockerfile").write_text("FROM debian:bookworm\nWORKDIR /app\n")
    (task / "tests/test.sh").write_text(TEST)
    (task / "tests/Dockerfile").write_text("FROM debian:bookworm\nCOPY . /tests\n")
    policy(tmp_path, *SOLVE)
    return tmp_path


def policy(folder: Path, *commands: str, fault: str = "") -> None:
    turns = "".join(f"[[turns]]\nrun = {json.dumps(c)}\n{fault}\n" for c in commands)
    usage = "[usage]\ninput = 700\noutput = 31\n"
    text = f'schema = 1\n{usage}{turns}[[turns]]\nsay = "Done."\n'
    (folder / "policy.toml").write_text(text)


def run(
    place: Path, *arguments: str, env: dict[str, str] | None = None
) -> tuple[int, dict[str, Any], str]:
    given = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    done = subprocess.run(
        [BENCHFLOW, "run", "task", "--json", "--job-name", "job", *arguments],
        cwd=place,
        env={**given, "ANTHROPIC_API_KEY": SECRET, **(env or {})},
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, found, done.stderr


def totals(place: Path) -> dict[str, Any]:
    (path,) = (place / "jobs" / "job").glob("*/model.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def trial(found: dict[str, Any]) -> dict[str, Any]:
    (job,) = found["jobs"]
    (only,) = job["trials"]
    return dict(only)


@pytest.mark.needs("sandbox")
@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_each_agent_is_metered_and_no_key_is_in_any_file(place: Path, agent: str) -> None:
    status, found, said = run(place, "-a", agent, "-m", "scripted/policy.toml")
    assert status == 0, said
    assert trial(found)["verdict"] == "resolved"
    assert trial(found)["model"] == "policy.toml"
    counted = totals(place)
    assert counted["turns"] >= 4
    # Questions on the side (titles, summaries) cost nothing by this policy.
    assert counted["usage"]["input"] % 700 == counted["usage"]["output"] % 31 == 0
    assert counted["usage"]["input"] >= 4 * 700
    files = [path for path in (place / "jobs").rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_a_budget_that_is_used_up_counts(place: Path) -> None:
    status, found, said = run(
        place, "-a", "mini-swe-agent", "-m", "scripted/policy.toml", "--max-turns", "1"
    )
    assert status == 0, said
    assert (trial(found)["verdict"], trial(found)["cause"]) == ("failed", "BudgetExhausted")
    assert totals(place)["budget_exhausted"] == "turns"


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_a_wrong_key_is_not_the_agents_fault(place: Path) -> None:
    with ScriptedModel.start({"m": of_commands(SOLVE)}, key="the right one") as model:
        access = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": model.base_urls["openai"]}
        status, found, _ = run(place, "-a", "mini-swe-agent", "-m", "openai/m", env=access)
    assert status == 4
    assert trial(found)["verdict"] == "error"
    assert "invalid API key" in trial(found)["cause_message"]


@pytest.mark.parametrize(
    ("model", "more", "message"),
    [
        ("openai/gpt-5", (), "no key for openai/gpt-5"),
        ("nonsuch/model", (), "no provider 'nonsuch' is known"),
        ("just-a-name", (), "does not say whose model it is"),
        ("scripted/missing.toml", (), "missing.toml: cannot be read"),
        ("http://127.0.0.1:9/v1", (), "which model there?"),
        ("http://127.0.0.1:9/v1#m", ("--max-usd", "1"), "the price of"),
        ("anthropic/m", ("--sandbox", "docker"), "reaches the sandboxes namespace and vm"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(
    place: Path, model: str, more: tuple[str, ...], message: str
) -> None:
    status, _, said = run(place, "-a", "aider", "-m", model, *more)
    assert status == 2
    assert message in said
    assert not (place / "jobs").exists()


@pytest.mark.parametrize(
    ("model", "more", "message"),
    [
        ("openai/gpt-5", (), "no key for openai/gpt-5"),
        ("http://127.0.0.1:9/v1#m", ("--max-usd", "1"), "the price of"),
    ],
)
def test_what_cannot_work_is_said_before_an_agent_is_installed(
    place: Path, model: str, more: tuple[str, ...], message: str
) -> None:
    fresh = {"BENCHFLOW_HOME": str(place / "fresh")}  # in which no agent is installed
    status, _, said = run(place, "-a", "mini-swe-agent", "-m", model, *more, env=fresh)
    assert status == 2
    assert message in said
    assert "installing" not in said


def test_budgets_need_a_model(place: Path) -> None:
    status, _, said = run(place, "-a", "oracle", "--max-turns", "3")
    assert status == 2
    assert "no agent here uses it" in said

"""benchmarks/flips.py: verifies again, goes on where it stopped, and finds what changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.run import ours
from tests.run.plain import benchflow

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.needs("sandbox")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A catalogue of one task, and a job with a deliverable for each milestone but the last."""
    ours.words(tmp_path / "tasks")
    agents = ("-a", "ladder:one", "-a", "oracle")
    job = ("run", "test/words", *agents, "--jobs-dir", "jobs", "--job-name", "made")
    benchflow(*job, cwd=tmp_path, BENCHFLOW_TASKS=str(tmp_path / "tasks"))
    return tmp_path


def flips(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "benchmarks" / "flips.py"
    command = [sys.executable, str(script), str(top / "jobs"), *arguments]
    env = {**os.environ, "BENCHFLOW_TASKS": str(top / "tasks")}
    asked = [*command, "--journal", str(top / "journal.jsonl")]
    return subprocess.run(asked, env=env, capture_output=True, text=True, check=False, timeout=300)


def journal(top: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (top / "journal.jsonl").read_text().splitlines()]


def test_it_goes_on_where_it_stopped_and_finds_what_changed(top: Path) -> None:
    first = flips(top, "-n", "3")
    assert first.returncode == 0, first.stdout + first.stderr
    lines = journal(top)
    assert [line["verdict"] for line in lines] == ["failed", "resolved", "failed"]
    assert [line["beside"] for line in lines] == [0, 4, 4], "each by turns idle and busy"
    with (top / "journal.jsonl").open("a") as stream:
        stream.write('{"case": ["test/wo')  # a kill in the middle of a line
    again = flips(top, "-n", "3")
    assert again.returncode == 0
    assert (top / "journal.jsonl").read_text().count('"beside"') == 3, "nothing was run again"
    assert flips(top, "-n", "4").returncode == 0
    whole = (top / "journal.jsonl").read_text().splitlines()
    torn = whole.pop(3)
    assert torn == '{"case": ["test/wo'
    assert [json.loads(line)["beside"] for line in whole] == [0, 4, 4, 0]
    changed = whole[1].replace('"verdict": "resolved"', '"verdict": "failed"')
    (top / "journal.jsonl").write_text("\n".join([*whole, changed]) + "\n")
    found = flips(top, "--report")
    assert found.returncode == 1
    assert "test/words, oracle of " in found.stdout
    assert "failed beside 4" in found.stdout


def test_what_another_version_of_the_task_has_judged_is_in_no_comparison(top: Path) -> None:
    assert flips(top, "-n", "2").returncode == 0
    checks = top / "tasks" / "test" / "words" / "tests" / "checks.py"
    checks.write_text(checks.read_text().replace('"one two three', '"four'))
    done = flips(top, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert [line["verdict"] for line in journal(top)] == ["failed", "resolved", "failed", "failed"]


def test_nothing_to_verify_is_told(top: Path) -> None:
    (top / "jobs").rename(top / "elsewhere")
    assert flips(top, "-n", "1").returncode == 2

"""The rules of the house hold: style, types, imports, scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        [str(BIN / "ruff"), "check", "."],
        [str(BIN / "ruff"), "format", "--check", "."],
        pytest.param([str(BIN / "mypy")], marks=pytest.mark.needs("time")),
        [str(BIN / "lint-imports")],
        ["sh", "-n", "scripts/setup.sh"],
        ["sh", "-n", "scripts/demo"],
        ["sh", "-n", "scripts/test"],
    ],
    ids=["ruff", "format", "types", "imports", "setup.sh", "demo", "test"],
)
def test_the_house_is_in_order(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.needs("/usr/bin/python3")
def test_boot_and_bench_are_python_3_11() -> None:
    """The verifier's image has Debian 12's Python: every module that runs there compiles there."""
    inside = [ROOT / "src/benchflow" / name for name in ("boot", "bench")]
    files = [str(path) for folder in inside for path in folder.rglob("*.py")]
    done = subprocess.run(
        [
            "/usr/bin/python3",
            "-c",
            "import sys; [compile(open(f).read(), f, 'exec') for f in sys.argv[1:]]",
            *files,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_help_answers_at_once() -> None:
    """A generous bound, in processor time; benchmarks/cli_help.py measures the real figure."""
    before = os.times()
    done = subprocess.run(
        [str(BIN / "benchflow"), "--help"], capture_output=True, text=True, check=True
    )
    assert "doctor" in done.stdout
    after = os.times()
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < 3


def test_no_module_is_longer_than_a_few_screens() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in (ROOT / "src").rglob("*.py")
        if (count := len(path.read_text().splitlines())) > 450
    }
    assert long == {}


def test_no_tasks_checks_are_longer_than_500_lines() -> None:
    found = list((ROOT / "tasks").glob("*/*/tests/checks.py"))
    assert len(found) > 20
    long = [str(path) for path in found if len(path.read_text().splitlines()) > 500]
    assert long == []


@pytest.mark.needs("git")
def test_no_merge_was_left_half_done() -> None:
    """A marker of git's in a page passes every other check."""
    marked = subprocess.run(
        ["git", "-C", str(ROOT), "grep", "-lE", "^(<{7} |>{7} )"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert marked.stdout.split() == []

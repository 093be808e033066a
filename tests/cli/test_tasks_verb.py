"""`benchflow tasks`: what there is, whether it is right, and a dataset that runs without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHFLOW = Path(sys.executable).parent / "benchflow"
TEMPLATE = """schema_version = "1.4"
[task]
name = "benchflow/words"
version = "1.0.0"
description = "Write a word into a file."
authors = [{ name = "tests" }]
[agent]
timeout_sec = 60
[verifier]
timeout_sec = 60
[environment]
[metadata.benchflow]
family = "test"
variant = "words"
skills = ["recovery"]
arch = "x86_64"
firmware = "bios"
expert_minutes = 90
expert_minutes_basis = "estimated"
oracle_minutes = 1
[[metadata.benchflow.deliverables]]
path = "/app/out/words.txt"
kind = "file"
max_mb = 1
"""
CHECKS = """from benchflow.boot import milestone

@milestone("word", proves=["R1"], title="there is a word")
def test_word(deliverable):
    assert deliverable().read_text()
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks" / "test" / "words"
    for name, text in {
        "task.toml": TEMPLATE,
        "instruction.md": "[R1] a word\n",
        "environment/Dockerfile": "FROM debian:bookworm\n",
        "solution/solve.sh": "#!/bin/sh\ntrue\n",
        "tests/checks.py": CHECKS,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tasks"


def tasks(*arguments: str, catalogue: Path, status: int = 0) -> str:
    done = subprocess.run(
        [str(BENCHFLOW), "tasks", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=catalogue.parent,
        env={**os.environ, "BENCHFLOW_TASKS": str(catalogue)},
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if not status else done.stderr


def test_the_list_says_what_a_person_chooses_by(catalogue: Path) -> None:
    text = tasks(catalogue=catalogue)
    assert "test/words  x86_64 bios  1           1.5 h   recovery" in text
    (listed,) = json.loads(tasks("--json", catalogue=catalogue))["tasks"]
    assert (listed["name"], listed["is_benchflow"]) == ("test/words", True)


def test_show_tells_how_it_is_proved(catalogue: Path) -> None:
    text = tasks("show", "words", catalogue=catalogue)
    assert "word       1       1       there is a word" in text
    assert "time limits   agent 1 min 00 s, verifier 1 min 00 s" in text


def test_validate_names_what_is_wrong_and_the_fix(catalogue: Path) -> None:
    assert "ok  test/words  1 check" in tasks("validate", "test/words", catalogue=catalogue)
    config = catalogue / "test" / "words" / "task.toml"
    config.write_text(TEMPLATE.replace("skills =", "skilz ="))
    text = tasks("validate", "test/words", catalogue=catalogue, status=3)
    assert "metadata.benchflow.skilz" in text
    assert "did you mean 'skills'?" in text


def test_an_export_is_a_harbor_dataset_and_is_not_written_over(catalogue: Path) -> None:
    assert "dataset/test-words" in tasks("export", "dataset", catalogue=catalogue)
    folder = catalogue.parent / "dataset" / "test-words"
    for name in ("task.toml", "tests/test.sh", "tests/boot.pyz", "environment/Dockerfile"):
        assert (folder / name).is_file()
    tasks("export", "dataset", catalogue=catalogue)
    (folder / "instruction.md").write_text("mine\n")
    error = tasks("export", "dataset", catalogue=catalogue, status=2)
    assert "exists and is not the same" in error

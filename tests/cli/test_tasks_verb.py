"""`benchflow tasks`: what there is, whether it is right, and a dataset that runs without us."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.run import ours

BENCHFLOW = Path(sys.executable).parent / "benchflow"


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    ours.words(tmp_path / "tasks")
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
    header, topic, line, *_ = text.splitlines()
    assert " ".join(header.split()) == "task machine milestones expert gates tried by others"
    assert topic == "test"
    columns = [
        "test/words",
        "x86_64 bios",
        "3",
        "1 min 00 s",
        "no gates recorded",
        "none at this version",
    ]
    assert re.split(" {2,}", line.strip()) == columns
    (listed,) = json.loads(tasks("--json", catalogue=catalogue))["tasks"]
    assert (listed["name"], listed["is_benchflow"]) == ("test/words", True)


def test_what_was_tried_of_an_earlier_version_is_told(catalogue: Path) -> None:
    attack = 'version = "0.0.1"\ndate = 2026-01-02\nwho = "somebody else"\nminutes = 5\n'
    (catalogue / "test/words/reviews.toml").write_text(f"[[attack]]\n{attack}")
    (listed,) = json.loads(tasks("--json", catalogue=catalogue))["tasks"]
    assert listed["state"].endswith("none at this version, 0 attempts, 1 attack before")


def test_show_tells_how_it_is_proved(catalogue: Path) -> None:
    text = tasks("show", "words", catalogue=catalogue)
    assert "three      1       1       two       the third word" in text
    assert "time limits   agent 1 min 00 s, verifier 2 min 00 s" in text
    assert "put --json behind show" in tasks(
        "--json", "show", "words", catalogue=catalogue, status=2
    )


def test_validate_names_what_is_wrong_and_the_fix(catalogue: Path) -> None:
    assert "ok  test/words  4 checks" in tasks("validate", "test/words", catalogue=catalogue)
    config = catalogue / "test" / "words" / "task.toml"
    config.write_text(config.read_text().replace("skills =", "skilz ="))
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

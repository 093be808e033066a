"""What a task means is kept for the bytes that it was read from, and for no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.written_lamp import ANEW, CHECKS, written
from tests.run.plain import write

from benchflow.authoring.meaning import kept as kept_meaning
from benchflow.authoring.meaning.kept import Meaning, meaning_of
from benchflow.authoring.meaning.key import parts_of
from benchflow.authoring.meaning.rest import rest_of
from benchflow.base.home import home


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "home"))
    with written(tmp_path / "tasks", ANEW) as folder:
        yield folder


def kept() -> Path:
    [file] = (home() / "meanings").iterdir()
    return file


def anew(task: Path) -> Meaning:
    return Meaning(parts_of(task), rest_of(task))


def test_it_is_what_reading_comes_to_and_is_read_once(task: Path) -> None:
    assert meaning_of(task) == anew(task)
    told = json.loads(kept().read_text())
    told["parts"]["mark"] = "of what was kept"
    kept().write_text(json.dumps(told))
    assert meaning_of(task).parts["mark"] == "of what was kept"


@pytest.mark.parametrize("place", ["tests/checks.py", "solution/solve.sh", "lib"])
def test_other_bytes_are_read_anew(task: Path, place: str) -> None:
    before = meaning_of(task)
    if place == "lib":
        write(task.parents[1] / "lib/wait.sh", "# Waits.\n\nsleep 1")
        write(task / "solution/more.sh", "from-tasks-lib wait.sh\n")
        assert meaning_of(task) == anew(task) != before
        before = meaning_of(task)
        write(task.parents[1] / "lib/wait.sh", "# Waits.\n\nsleep 2")
    elif place == "tests/checks.py":
        write(task / place, CHECKS.replace("assert", "assert not", 1))
    else:
        (task / place).chmod((task / place).stat().st_mode ^ 0o100)
    assert meaning_of(task) == anew(task) != before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"inputs": 1}', '{"inputs": "x", "parts": []}'])
def test_a_broken_file_is_written_again(task: Path, text: str) -> None:
    before = meaning_of(task)
    kept().write_text(text)
    assert meaning_of(task) == before
    assert json.loads(kept().read_text())["parts"] == before.parts


def test_what_cannot_be_kept_is_read_all_the_same(task: Path) -> None:
    (home() / "meanings").write_text("no folder")
    assert meaning_of(task) == anew(task)


def test_what_was_edited_while_it_was_read_is_not_kept(
    task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of before would stand for what was read after."""

    def edited(folder: Path) -> str:
        write(folder / "tests/more.py", "A = 1\n")
        return rest_of(folder)

    monkeypatch.setattr(kept_meaning, "rest_of", edited)
    meaning_of(task)
    assert not (home() / "meanings").exists()
    monkeypatch.setattr(kept_meaning, "rest_of", rest_of)
    monkeypatch.setattr(kept_meaning, "_changes", dict)
    meaning_of(task)
    assert not (home() / "meanings").exists()

"""Tasks are found by name, short name, glob and path; a wrong name says what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchflow.errors import UsageError
from benchflow.tasks import catalogue, find, names, select


@pytest.fixture(autouse=True)
def own_catalogue(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHFLOW_TASKS", str(lamp.parents[1]))


def test_by_name_short_name_glob_and_path(lamp: Path) -> None:
    assert names() == ["embedded/lamp"]
    assert [task.name for task in catalogue()] == ["embedded/lamp"]
    for pattern in ("embedded/lamp", "lamp", "embedded/*", str(lamp), str(lamp.parent)):
        assert [task.path for task in select([pattern])] == [lamp]


def test_a_task_named_twice_is_chosen_once(lamp: Path) -> None:
    assert len(select(["embedded/lamp", "lamp", str(lamp)])) == 1


def test_a_wrong_name_says_what_was_meant() -> None:
    with pytest.raises(UsageError) as caught:
        find("embedded/lmap")
    assert caught.value.hint == "did you mean embedded/lamp?"

"""words.toml: machines and checks as people say them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchflow.errors import TaskError
from benchflow.people.pack import pack_of
from benchflow.tasks import find
from benchflow.tasks.catalogue import catalogue
from benchflow.tasks.load import load
from benchflow.tasks.words import words_of


def test_every_task_says_what_its_machines_are_for() -> None:
    for task in catalogue():
        words = words_of(task)
        assert words.machines, task.name
        assert all(said.endswith(".") for said in words.machines.values()), task.name


def test_checks_keep_their_commas_and_apostrophes() -> None:
    (task,) = pack_of([find("container/oci-base")]).tasks
    said = [check for one in task.milestones for check in one.checks]
    assert "the library is musl 1.2.3" in said and "the configuration is the list’s" in said
    assert "the layout is whole" in said, "else the words of the function’s name"
    assert not any("_" in words for words in said)


def test_words_change_no_digest(tmp_path: Path) -> None:
    source = find("repair/dead-server").path
    copied = tmp_path / "tasks" / "repair" / "dead-server"
    shutil.copytree(source, copied)
    shutil.copytree(source.parents[1] / "lib", tmp_path / "tasks" / "lib")
    before = load(copied)
    (copied / "words.toml").write_text('[machines]\n"s*" = "Any."\nserver = "This one."\n')
    after = load(copied)
    assert after.digest == before.digest
    words = words_of(after)
    assert (words.machine("server"), words.machine("spare"), words.machine("x")) == (
        "This one.", "Any.", "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[checks]\ntest_nothing = 'no such check'", "checks.test_nothing: the task has no such"),
        ("[machines]\na = 'x'", "machines.a"),
        ("[machines]\na = 'two\\nlines'\nb = 7", "machines.b"),
        ("[people]\na = 'no such table'", "people"),
        ("machines = ", "words.toml"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, named: str) -> None:
    source = find("repair/dead-server").path
    copied = tmp_path / "tasks" / "repair" / "dead-server"
    shutil.copytree(source, copied)
    shutil.copytree(source.parents[1] / "lib", tmp_path / "tasks" / "lib")
    (copied / "words.toml").write_text(text)
    with pytest.raises(TaskError, match=named):
        words_of(load(copied))

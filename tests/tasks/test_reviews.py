"""reviews.toml: who tried a task from outside, and what becomes of a task without."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchflow.errors import TaskError
from benchflow.tasks import names, reviews, root

ATTEMPT = """\
[[attempt]]
version = "2.0.0"
date = 2026-11-27
who = "one unnamed coding agent"
verdict = "failed"
reward = 0.5
minutes = 43
calls = 48
[[attempt.failures]]
check = "test_it_boots"
fault = "agent"
why = "It did not boot on the second start."
"""
ATTACK = """\
[[attack]]
version = "2.0.0"
date = 2026-11-28
who = "an engineer who had never seen it"
minutes = 60
held = ["a kernel that only prints its banner"]
"""


def test_a_task_is_reviewed_when_both_were_done_with_its_version(tmp_path: Path) -> None:
    assert reviews.read(tmp_path) == reviews.Reviews()
    (tmp_path / reviews.NAME).write_text(ATTEMPT)
    assert not reviews.read(tmp_path).at("2.0.0").complete
    (tmp_path / reviews.NAME).write_text(ATTEMPT + ATTACK)
    found = reviews.read(tmp_path)
    assert found.at("2.0.0").complete
    assert not found.at("2.0.1").complete
    assert found.attempts[0].failures[0].fault == "agent"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("calls = 48", "", "attempt.0.calls"),
        ("reward = 0.5", "reward = 1.5", "attempt.0.reward"),
        ('fault = "agent"', 'fault = "nobody"', "attempt.0.failures.0.fault"),
        ("minutes = 43", "minuets = 43", "attempt.0.minutes"),
        ("date = 2026-11-27", "date = yesterday", "line 3"),
        (ATTEMPT[ATTEMPT.index("[[attempt.failures]]") :], "", "has no [[attempt.failures]]"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in ATTEMPT
    (tmp_path / reviews.NAME).write_text(ATTEMPT.replace(old, new))
    with pytest.raises(TaskError, match=reviews.NAME) as caught:
        reviews.read(tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", names())
def test_those_of_the_catalogue_can_be_read(name: str) -> None:
    found = reviews.read(root() / name)
    known = {"container/oci-base", "repair/dead-server", "spin/appliance"}
    assert found.attempts or name not in known


def test_an_attempt_counts_for_the_version_that_judged_it_again() -> None:
    found = reviews.read(root() / "own/kernel")
    assert [one.versions for one in found.attempts] == [
        "1.1.0, verified again at 1.1.1",
        "1.1.1, verified again at 1.1.2",
    ]
    assert [len(found.at(version).attempts) for version in ("1.1.0", "1.1.1", "1.1.2")] == [1, 2, 1]

"""A wait through panics is as long as the letter says, on a slow host too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.catalogue import checkers

from benchflow.boot import GuestPanic
from benchflow.boot.deadline import Deadline

#: Task, module, class, and the method that waits for a word on the console.
WAITS = (
    ("container/host-os", "host", "Host", "await_word", ("bundle",)),
    ("embedded/ab-update", "unit", "Unit", "await_text", ("bundle",)),
)


@pytest.mark.parametrize(("task", "module", "name", "wait", "more"), WAITS)
def test_what_is_left_is_in_reference_seconds(
    task: str, module: str, name: str, wait: str, more: tuple[str, ...]
) -> None:
    lost: list[float] = [0.0]
    asked: list[float] = []

    def expect(pattern: str, timeout: float) -> None:
        """The first try panics after 80 real seconds: 20 of the reference's."""
        asked.append(timeout)
        if len(asked) == 1:
            lost[0] -= 80.0
            raise GuestPanic("Kernel panic")

    # What a guest waited is subtracted, so a negative wait is time that went by.
    board = SimpleNamespace(
        deadline=lambda seconds: Deadline(seconds, 0.25, lambda: lost[0]), expect=expect
    )
    with checkers.helpers(task, module, *more) as loaded:
        one: Any = getattr(loaded[module], name).__new__(getattr(loaded[module], name))
        one.machine = board
        getattr(one, wait)("word", 60)
    assert asked == [pytest.approx(60, abs=1), pytest.approx(40, abs=1)]

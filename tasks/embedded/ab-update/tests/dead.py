"""Versions that cannot live, given to a unit that runs another one."""

from __future__ import annotations

import time
from collections.abc import Callable

from bundle import Release
from media import Media
from unit import Unit

#: Three tries, each of which ends within 30 seconds, and a start; and half of that again.
GIVEN_UP_SECONDS = 180


def given_up(unit: Unit, media: Media, what: str, runs: Release) -> int:
    """Install a dead version and see `runs` come back; where the console was before its start."""
    unit.installs(media.path(what))
    mark = unit.machine.console.end
    unit.restart(GIVEN_UP_SECONDS)
    left_behind(unit, media.releases[what], runs)
    return mark


def left_behind(unit: Unit, dead: Release, runs: Release) -> None:
    """Assert that the unit runs `runs` and says that `dead` failed."""
    status = unit.runs(runs)
    assert status["other"] == "failed", status
    assert status["other_version"] == str(dead.version), status
    unit.whole(status)


def dead_versions(unit: Unit, media: Media, runs: Release) -> dict[str, Callable[[], object]]:
    """The steps of a unit that is given one dead version after the other, the last one hanging."""
    machine, word = unit.machine, media.words["hangs"]
    marks: list[int] = []

    def ends() -> None:
        mark = given_up(unit, media, "ends", runs)
        tries = machine.console.since(mark).count(media.words["ends"])
        assert tries == 3, f"it was started {tries} times"

    def hangs() -> None:
        unit.login(90)
        unit.installs(media.path("hangs"))
        unit.leave()
        unit.await_text(word)
        for _ in range(2):
            machine.power_cut()
            machine.boot()
            unit.await_text(word)
        marks.append(machine.console.end)

    def restarts() -> None:
        boots = machine.boots
        deadline = machine.deadline(70)
        while machine.boots == boots and deadline.remaining() > 0:
            time.sleep(0.5)
        assert machine.boots > boots, "it still hangs after more than 60 s"
        unit.login(90)
        assert word not in machine.console.since(marks[0])
        left_behind(unit, media.releases["hangs"], runs)
        machine.close()

    return {
        "start": lambda: unit.start(60),
        "ends": lambda: unit.unspoilt(ends),
        "garbage": lambda: given_up(unit, media, "garbage", runs),
        "torn": lambda: given_up(unit, media, "torn", runs),
        "hangs": lambda: unit.unspoilt(hangs),
        "restarts": restarts,
    }

"""Versions that cannot live, given to a unit that runs another one."""

from __future__ import annotations

from functools import partial

from bundle import Release
from media import Media
from unit import START_SECONDS, Unit, same

from benchflow.bench.lanes import Step

#: [R17] from when the loader begins to start it; firmware and loader come first.
TRY_SECONDS = 30
LOADER_SECONDS = 4
TRIES = 3
WHAT = {"ends": "ends", "missing": "is missing", "hangs": "hangs",
        "dawdles": "has scripts of 72 s in all"}  # fmt: skip
GIVEN_UP_SECONDS = TRIES * TRY_SECONDS + START_SECONDS
#: [R18] from when its kernel started, which is before its first process says its word.
HANG_SECONDS = 60


def given_up(unit: Unit, media: Media, what: str) -> int:
    """Install a dead version and see the present one come back; where the console was before."""
    runs = unit.now()
    unit.installs(media.path(what))
    mark = unit.machine.console.end
    unit.leave()
    unit.enter(GIVEN_UP_SECONDS)
    left_behind(unit, media.releases[what], runs)
    return mark


def left_behind(unit: Unit, dead: Release, runs: Release) -> None:
    """Assert that the unit runs `runs`, says that `dead` failed, and has its records [R23]."""
    status = unit.runs(runs)
    found, due = (status["other"], status["other_version"]), ("failed", str(dead.version))
    assert found == due, f"the other slot is {found} after three tries, {due} is due [R13]"
    unit.whole(status)
    unit.keeps_records()


class DeadVersions:
    """A unit that is given one dead version after the other, the last ones without an end."""

    def __init__(self, unit: Unit, media: Media) -> None:
        self._unit, self._media, self._machine = unit, media, unit.machine
        self._mark = 0
        self._runs: Release | None = None

    def steps(self) -> dict[str, Step]:
        start, unspoilt = ("start",), self._unit.unspoilt
        return {
            "start": Step(self._unit.start),
            **{what: Step(partial(unspoilt, partial(self._restarts_at_once, what)), start)
               for what in ("ends", "missing")},
            "garbage": Step(lambda: self._given_up("garbage"), start),
            "torn": Step(lambda: self._given_up("torn"), start),
            "hangs": Step(partial(unspoilt, partial(self._two_tries, "hangs")), start),
            "restarts": Step(partial(self._third_try, "hangs"), ("hangs",)),
            "dawdles": Step(self._dawdles, start),
        }  # fmt: skip

    def _given_up(self, what: str) -> None:
        self._unit.up()
        given_up(self._unit, self._media, what)

    def _restarts_at_once(self, name: str) -> None:
        """One whose first process ends, or is missing."""
        unit = self._unit
        unit.up()
        runs = unit.now()
        unit.installs(self._media.path(name))
        mark = self._machine.console.end
        unit.leave()
        for number in range(1, TRIES + 1):
            what = f"try {number} of a first process that {WHAT[name]} [R17]"
            unit.awaits_restart(TRY_SECONDS + LOADER_SECONDS, what)
        unit.enter(60)
        left_behind(unit, self._media.releases[name], runs)
        if word := self._media.words.get(name):
            tries = self._machine.console.since(mark).count(word)
            same(tries, TRIES, "starts of a first process that ends [R16]")

    def _two_tries(self, name: str) -> None:
        """The first two of a version that says its word and has no end are ended by the power."""
        unit, machine, word = self._unit, self._machine, self._media.words[name]
        unit.up()
        self._runs = unit.now()
        unit.installs(self._media.path(name))
        unit.leave()
        unit.await_word(word)
        for _ in range(TRIES - 1):
            machine.power_cut()
            machine.boot()
            unit.await_word(word)
        self._mark = machine.console.end

    def _third_try(self, name: str) -> None:
        unit, word = self._unit, self._media.words[name]
        unit.awaits_restart(HANG_SECONDS, f"one that {WHAT[name]}, and is not confirmed [R18]")
        unit.enter(90)
        assert word not in self._machine.console.since(self._mark), "a fourth try was made [R16]"
        assert self._runs is not None
        left_behind(unit, self._media.releases[name], self._runs)

    def _dawdles(self) -> None:
        """Each of its scripts ends in time, and all together do not."""
        try:
            self._unit.unspoilt(partial(self._two_tries, "dawdles"))
            self._third_try("dawdles")
        finally:
            self._machine.close()

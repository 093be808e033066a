"""Versions that cannot live, given to a unit that runs another one."""

from __future__ import annotations

from bundle import Release
from media import Media
from unit import START_SECONDS, Unit

from benchflow.bench.lanes import Step

#: [R17] from when the loader begins to start it; firmware and loader come first.
TRY_SECONDS = 30
LOADER_SECONDS = 4
TRIES = 3
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
    """Assert that the unit runs `runs` and says that `dead` failed."""
    status = unit.runs(runs)
    found, due = (status["other"], status["other_version"]), ("failed", str(dead.version))
    assert found == due, f"the other slot is {found} after three tries, {due} is due [R13]"
    unit.whole(status)


class DeadVersions:
    """A unit that is given one dead version after the other, the last one hanging."""

    def __init__(self, unit: Unit, media: Media) -> None:
        self._unit, self._media, self._machine = unit, media, unit.machine
        self._mark = 0
        self._runs: Release | None = None

    def steps(self) -> dict[str, Step]:
        start = ("start",)
        return {
            "start": Step(self._unit.start),
            "ends": Step(lambda: self._unit.unspoilt(self._ends), start),
            "garbage": Step(lambda: self._given_up("garbage"), start),
            "torn": Step(lambda: self._given_up("torn"), start),
            "hangs": Step(lambda: self._unit.unspoilt(self._hangs), start),
            "restarts": Step(self._restarts, ("hangs",)),
        }

    def _given_up(self, what: str) -> None:
        self._unit.up()
        given_up(self._unit, self._media, what)

    def _ends(self) -> None:
        unit, word = self._unit, self._media.words["ends"]
        unit.up()
        runs = unit.now()
        unit.installs(self._media.path("ends"))
        mark = self._machine.console.end
        unit.leave()
        for number in range(1, TRIES + 1):
            what = f"the first process ended in try {number} [R17]"
            unit.awaits_restart(TRY_SECONDS + LOADER_SECONDS, what)
        unit.enter(60)
        left_behind(unit, self._media.releases["ends"], runs)
        tries = self._machine.console.since(mark).count(word)
        assert tries == TRIES, f"its first process was started {tries} times, {TRIES} are due [R16]"

    def _hangs(self) -> None:
        unit, machine, word = self._unit, self._machine, self._media.words["hangs"]
        unit.up()
        self._runs = unit.now()
        unit.installs(self._media.path("hangs"))
        unit.leave()
        unit.await_word(word)
        for _ in range(TRIES - 1):
            machine.power_cut()
            machine.boot()
            unit.await_word(word)
        self._mark = machine.console.end

    def _restarts(self) -> None:
        unit, word = self._unit, self._media.words["hangs"]
        unit.awaits_restart(HANG_SECONDS, "its first process hangs [R18]")
        unit.enter(90)
        assert word not in self._machine.console.since(self._mark), "a fourth try was made [R16]"
        assert self._runs is not None
        left_behind(unit, self._media.releases["hangs"], self._runs)
        self._machine.close()

"""Versions that cannot live, given to a unit that runs version 1000."""

from __future__ import annotations

from functools import partial

from fleet import refuses_the_old_key
from media import Media
from unit import DEAD_SECONDS, START_SECONDS, TRIAL_SECONDS, Unit, same

from benchflow.bench.lanes import Step

#: From when its kernel started, which is before it says its word.
HANG_SECONDS = 60
TRIES = 3


class Dead:
    """One after the other in a lane of its own; each is given up after its tries."""

    def __init__(self, unit: Unit, media: Media, *names: str) -> None:
        self._unit, self._media, self._names = unit, media, names

    def steps(self) -> dict[str, Step]:
        """`start`, each of the versions, and `end`, which wants the old key to be worth nothing."""
        found = {"start": Step(lambda: self._unit.start(START_SECONDS))}
        for name in self._names:
            act = {"garbage": self._loads_not, "ends": self._ends}.get(name, self._hangs)
            found[name] = Step(partial(self._given_up, name, partial(act, name)), ("start",))
        return found | {"end": Step(self._end, ("start",))}

    def _given_up(self, name, act) -> None:
        unit, media = self._unit, self._media

        def once() -> None:
            unit.up()
            unit.installs(media.path(name))
            mark = unit.machine.console.end
            unit.leave()
            act(mark)
            unit.runs(media.releases["recall"])
            status = unit.status()
            found = status["other"], status["other_version"]
            due = "failed", str(media.releases[name].version)
            same(found, due, f"the other slot, after the tries of {name} [R8, R12]")

        unit.unspoilt(once)
        unit.whole(unit.status())

    def _loads_not(self, name: str, mark: int) -> None:
        self._unit.enter(DEAD_SECONDS)

    def _ends(self, name: str, mark: int) -> None:
        unit = self._unit
        unit.enter(DEAD_SECONDS)
        tries = unit.machine.console.since(mark).count(self._media.words[name])
        same(tries, TRIES, "starts of a first process that ends [R8]")

    def _hangs(self, name: str, mark: int) -> None:
        """Two tries end with the power; the third has to end by itself."""
        unit, machine, word = self._unit, self._unit.machine, self._media.words[name]
        unit.await_word(word, TRIAL_SECONDS)
        for _ in range(TRIES - 1):
            machine.power_cut()
            machine.boot()
            unit.await_word(word, TRIAL_SECONDS)
        unit.awaits_restart(HANG_SECONDS, f"{name} is still not confirmed [R8, R12]")
        unit.enter(TRIAL_SECONDS)

    def _end(self) -> None:
        self._unit.up()
        refuses_the_old_key(self._unit, self._media)
        self._unit.machine.close()

"""Units in the field before the recall: histories that only their own updater has made."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bundle import RECALL
from media import OF_THE_OLD_KEY, Media
from unit import TEXTS, TRIAL_SECONDS, Unit, same

from benchflow.bench.lanes import Step


@dataclass(frozen=True)
class Moment:
    """A unit that is switched off: a copy of its disk, and what it has to keep."""

    disk: Path
    records: tuple[str, ...]
    hostname: str
    config: str = ""

    @classmethod
    def of(cls, unit: Unit) -> Moment:
        """A unit that is switched off."""
        return cls(unit.machine.flatten(), tuple(unit.records), unit.hostname, unit.config)


class Fleet:
    """One unit goes through a life in the field; copies of its disk are the histories."""

    def __init__(self, unit: Unit, media: Media) -> None:
        self._unit, self._media = unit, media

    def steps(self) -> dict[str, Step]:
        """Each gives a Moment: in slot a with data, in slot b, gone back with a high floor, and in
        the middle of a trial."""
        return {
            "slot-a": Step(self._slot_a),
            "mid-trial": Step(self._mid_trial, ("slot-a",)),
            "slot-b": Step(self._slot_b, ("slot-a",)),
            "gone-back": Step(self._gone_back, ("slot-b",)),
        }

    def _moment(self) -> Moment:
        unit = self._unit
        unit.say("sync")
        unit.machine.power_cut()
        return Moment.of(unit)

    def _slot_a(self) -> Moment:
        unit = self._unit
        unit.start()
        for text in secrets.SystemRandom().sample(TEXTS, 2):
            unit.add(text)
        unit.add(secrets.token_hex(8))
        unit.configure(f"mast-{secrets.token_hex(4)}")
        unit.say(f"mkdir -p {self._media.place}; sync")
        unit.machine.snapshot("slot-a")
        return self._moment()

    def _again(self) -> None:
        self._unit.machine.restore("slot-a")

    def _mid_trial(self) -> Moment:
        """The power goes while a version is on trial: its next start is the second try."""
        unit, media = self._unit, self._media
        self._again()
        unit.installs(media.path("slow"))
        unit.leave()
        unit.await_word(media.words["slow"], TRIAL_SECONDS)
        unit.machine.power_cut()
        return Moment.of(unit)

    def _slot_b(self) -> Moment:
        unit, media = self._unit, self._media
        self._again()
        unit.installs(media.path("low"))
        unit.restart(TRIAL_SECONDS)
        unit.runs(media.releases["low"])
        unit.add(secrets.token_hex(8))
        return self._moment()

    def _gone_back(self) -> Moment:
        unit, media = self._unit, self._media
        unit.start()
        unit.installs(media.path("high"))
        unit.restart(TRIAL_SECONDS)
        unit.runs(media.releases["high"])
        unit.say("update rollback")
        unit.restart()
        unit.runs(media.releases["low"])
        unit.add(secrets.token_hex(8))
        return self._moment()


def is_recalled(unit: Unit, media: Media, slot: str) -> None:
    """Assert that version 1000 runs in `slot`, alone, and that the old key is worth nothing."""
    status = unit.runs(media.releases["recall"])
    due = {"slot": slot, "version": str(RECALL), "state": "confirmed", "try": "0",
           "other": "none", "other_version": "-", "floor": str(RECALL)}  # fmt: skip
    same(status, due, "status after the confirmation of version 1000 [R3, R6]")
    unit.keeps()


def refuses_the_old_key(unit: Unit, media: Media) -> None:
    before = unit.status()
    found = {what: unit.install(media.path(what)) for what in OF_THE_OLD_KEY}
    same(found, dict.fromkeys(OF_THE_OLD_KEY, 11), "status for bundles by the recalled key [R5]")
    same(unit.status(), before, "a refusal changes nothing")


def no_way_back(unit: Unit) -> None:
    same(unit.machine.shell.run("update rollback").status, 16, "rollback after the recall [R6]")


def updated(make: Callable[[str, Moment], Unit], name: str, moment: Moment, media: Media) -> Unit:
    """A unit of this history, after it took the recall by its own updater."""
    unit = make(name, moment)
    unit.start(TRIAL_SECONDS)
    before = unit.status()
    unit.installs(media.path("recall"))
    unit.restart(TRIAL_SECONDS)
    status = unit.runs(media.releases["recall"])
    found = (status["slot"], status["floor"])
    due = ("b" if before["slot"] == "a" else "a", str(RECALL))
    same(found, due, "slot and floor after the confirmation of version 1000 [R3]")
    unit.keeps()
    return unit

"""Power cuts around the recall, on a unit that runs an old version in slot b."""

from __future__ import annotations

import secrets
import time
from functools import partial

from bundle import RECALL
from fleet import is_recalled, no_way_back, refuses_the_old_key
from media import Media
from unit import GIVEN_UP_SECONDS, TRIAL_SECONDS, Unit, in_trial, same

from benchflow.bench.lanes import Step

#: When the power goes while an old updater writes the recall, as shares of the time that it takes.
WRITING = 2
#: When it goes around the first start of version 1000, in seconds from the restart.
FIRST_STARTS = ((0.0, 0.5), (1.0, 3.0), (3.0, 7.0), (7.0, 12.0))
#: While the updater of version 1000 writes the next version.
NEXT = 3


class Cuts:
    def __init__(self, unit: Unit, media: Media) -> None:
        self._unit, self._machine, self._media = unit, unit.machine, media
        self._kept: dict[str, list[str]] = {}
        self._seconds: dict[str, float] = {}

    def steps(self) -> dict[str, Step]:
        found = {"ready": Step(self._ready), "installed": Step(self._installed, ("ready",))}
        for n in range(WRITING):
            act = partial(self._writing, "ready", "recall", n / WRITING)
            found[f"writing-{n}"] = Step(act, ("installed",))
        found["in-vain"] = Step(self._in_vain, ("ready",))
        for n, span in enumerate(FIRST_STARTS):
            found[f"first-{n}"] = Step(partial(self._first, *span), ("installed",))
        found["recalled"] = Step(self._recalled, ("installed",))
        for n in range(NEXT):
            act = partial(self._writing, "recalled", "next", n / NEXT)
            found[f"next-{n}"] = Step(act, ("recalled",))
        return found

    def _snapshot(self, name: str) -> None:
        self._machine.snapshot(name)
        self._kept[name] = list(self._unit.records)

    def _back(self, name: str) -> None:
        self._machine.restore(name)
        self._unit.records[:] = self._kept[name]

    def _timed(self, what: str) -> None:
        began = time.monotonic()
        self._unit.installs(self._media.path(what))
        self._seconds[what] = time.monotonic() - began

    def _ready(self) -> None:
        self._unit.start(TRIAL_SECONDS)
        self._unit.add(secrets.token_hex(8))
        self._snapshot("ready")

    def _installed(self) -> None:
        self._back("ready")
        self._timed("recall")
        self._snapshot("installed")

    def _recalled(self) -> None:
        self._back("installed")
        self._unit.restart(TRIAL_SECONDS)
        is_recalled(self._unit, self._media, "a")
        self._snapshot("recalled")
        self._timed("next")

    def _writing(self, snapshot: str, what: str, share: float) -> None:
        """Cut while a bundle is written, or right after; then one of the two versions runs."""
        unit, media = self._unit, self._media
        self._back(snapshot)
        unit.add(secrets.token_hex(8))
        usual = self._seconds[what]
        unit.say(f"update install {media.path(what)} >/dev/null 2>&1 &")
        time.sleep(usual * (share + secrets.randbelow(1000) / 1000 / max(WRITING, NEXT)))
        unit.cut()
        status = unit.status()
        due = (media.releases["low" if what == "recall" else "recall"], media.releases[what])
        assert status["version"] in [str(one.version) for one in due], (
            f"after the cut {[one.version for one in due]} is due, and this runs: {status} [R7]"
        )
        unit.whole(status)
        unit.keeps()
        self._agrees(status)

    def _in_vain(self) -> None:
        """Version 1000 itself is given up: three tries, and the unit is what it was."""
        unit, media = self._unit, self._media
        self._back("ready")
        before, told = unit.status(), f"{media.place}/vain"

        def given_up() -> None:
            unit.say(f"rm -f {told}")
            unit.installs(media.path("vain"))
            unit.restart(GIVEN_UP_SECONDS)
            unit.runs(media.releases["low"])
            due = [in_trial(RECALL, n, before) for n in (1, 2, 3)]
            same(unit.statuses(f"cat {told}"), due, "status in the tries of version 1000 [R4]")

        unit.unspoilt(given_up)
        status = unit.status()
        kept = {key: before[key] for key in ("slot", "version", "floor")}
        same({key: status[key] for key in kept}, kept, "status after three tries in vain [R4]")
        found = status["other"], status["other_version"]
        same(found, ("failed", str(RECALL)), "version 1000 after three tries in vain [R4]")
        unit.keeps()
        unit.installs(media.path("recall"))
        unit.restart(TRIAL_SECONDS)
        is_recalled(unit, media, "a")

    def _first(self, least: float, most: float) -> None:
        """Cut around the first start of version 1000."""
        unit = self._unit
        self._back("installed")
        unit.add(secrets.token_hex(8))
        unit.leave()
        time.sleep(least + secrets.randbelow(1000) / 1000 * (most - least))
        unit.cut()
        status = unit.runs(self._media.releases["recall"])
        unit.whole(status)
        unit.keeps()
        self._agrees(status)

    def _agrees(self, status: dict[str, str]) -> None:
        """A unit is either what it was, or recalled altogether."""
        if int(status["version"]) >= 1000:
            refuses_the_old_key(self._unit, self._media)
            old = status["other"] != "none" and int(status["other_version"]) < 1000
            assert not old, f"a version from before the recall counts: {status} [R6]"
            if status["other"] == "none":
                no_way_back(self._unit)
        else:
            low = self._media.releases["low"].version
            assert status["floor"] == str(low), f"the floor {low} is due: {status} [R4]"
        self._machine.power_cut()

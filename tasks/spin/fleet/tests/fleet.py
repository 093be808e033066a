"""Stations in the field: how each comes to its state, and what it then goes through by itself.

Each is a Lane of its own beside the checks; a step fails for the check that asks for it.
"""

from __future__ import annotations

import secrets

from archives import Archives
from releases import BRIS
from site_data import Site
from station import START_SECONDS, UPGRADE_SECONDS, Station

from benchflow.bench.deb_package import Deb
from benchflow.bench.lanes import Step

ONE, TWO = "holm 1.0 alke", "holm 2.0 bris"
#: A station that the field's upgrade was interrupted on has this long, from its start.
RESUME_SECONDS = 400
WORDS = {
    "bris": "bris.key alone has signed [R6]",
    "alke": "alke.key has signed [R6], [R17]",
    "stranger": "a key has signed that nobody knows [R6]",
    "dorg": "dorg.key has signed, and base.key should have [R6]",
}


class Field:
    """What is published: `then`, by the stations' suppliers of before, and `now`, as ordered."""

    def __init__(self, then: Archives, now: Archives) -> None:
        self.then, self.now = then, now


def refuses(station: Station, now: Archives, spare: str, **attacks: str) -> None:
    """An update while suites are signed by one wrong key each: nothing of them is taken, and what
    the station knew before still is. After that it updates again."""
    evil = {suite: f"evil-{secrets.token_hex(3)}" for suite in attacks}
    for suite, key in attacks.items():
        station.line.change(now.suite(suite, Deb(evil[suite], "6.6"), keys=(key,)))
    try:
        station.apt("update")
        for suite, name in evil.items():
            station.apt(f"-y install {name}")
            assert station.version(name) is None, (
                f"a package was taken from {suite}, which {WORDS[attacks[suite]]}"
            )
        assert station.apt(f"-y install {spare}") == 0, (
            f"{spare}, which it knew, cannot be installed while {attacks} are refused [R8]"
        )
    finally:
        station.line.serve(now.all())
    status = station.apt("update")
    assert status == 0, f"apt-get update: {status} when all is in order again [R8]"


def becomes_three(station: Station, site: Site) -> None:
    """What is asked of every station: holm-upgrade, and it is a whole 3.0."""
    began = station.machine.elapsed
    status = station.upgrade(UPGRADE_SECONDS)
    assert status == 0, f"holm-upgrade: {status} [R9]: {station.log('upgrade')}"
    seconds = station.machine.elapsed - began
    assert seconds <= UPGRADE_SECONDS + 5, f"holm-upgrade took {seconds:.0f} s [R9]"
    missing = site.whole(station)
    assert not missing, f"after holm-upgrade, not a whole 3.0 [R11]: {missing}"


class Two:
    """A station that came to 2.0 by the field's upgrade, and has been in use as such."""

    def __init__(self, station: Station, site: Site, field: Field) -> None:
        self.station, self.site, self.field = station, site, field

    def steps(self) -> dict[str, Step]:
        return {
            "in-use": Step(self._in_use),
            "nightly": Step(self._nightly, ("in-use",)),
            "recalled": Step(self._recalled, ("nightly",)),
            "three": Step(self._three, ("nightly",)),
            "data": Step(self._data, ("three",)),
            "cut": Step(self._cut, ("nightly",)),
            "data-after-cut": Step(self._data, ("cut",)),
        }

    def _in_use(self) -> None:
        station, site = self.station, self.site
        station.start()
        station.line.serve(self.field.then.all())
        station.connect()
        site.settle(station)
        status = station.upgrade()
        assert status == 0, f"the field's holm-upgrade: {status}: {station.log('upgrade')}"
        site.book(station)
        # What a night of bad lines does to its service.
        station.end_service("holm-registry", 40)
        station.say("sync")

    def _nightly(self) -> None:
        self.station.line.serve(self.field.now.all())
        self.station.nightly("on a 2.0")
        # What listens after a night of bad lines is not asked: see [R19].
        there = self.station.installed()
        wrong = {name: there.get(name) for name in BRIS if there.get(name) != BRIS[name]}
        assert not wrong, f"{wrong} is installed, not {BRIS} [R5]"
        assert self.station.release() == TWO, f"{self.station.release()}, not {TWO} [R5]"
        self.site.changes_are_there(self.station)
        self.site.remember(self.station)
        self.station.machine.snapshot("nightly")

    def _recalled(self) -> None:
        now, spares = self.field.now, self.site.spares
        refuses(self.station, now, spares[0], bris="bris", bookworm="bris")
        refuses(self.station, now, spares[1], bris="alke")

    def _three(self) -> None:
        self.station.machine.restore("nightly")
        self.station.line.serve(self.field.now.all())
        self.station.online()
        becomes_three(self.station, self.site)

    def _data(self) -> None:
        self.site.program_is_new(self.station)
        self.site.registers_are_there(self.station)
        self.site.settings_are_there(self.station)
        self.site.configuration_is_right(self.station)
        self.site.nothing_is_left(self.station)

    def _cut(self) -> None:
        """Before and behind the bench's package; from the first time on no archive answers."""
        station, site = self.station, self.site
        station.machine.restore("nightly")
        station.line.serve(self.field.now.all())
        station.online()
        station.say("touch /root/hold-3.0-pre /root/hold-3.0-post; sync")
        station.begin_upgrade()
        station.await_word(site.words["3.0", "pre"], UPGRADE_SECONDS)
        station.machine.power_cut()
        station.line.down = True
        station.machine.boot()
        station.await_word(site.words["3.0", "post"], UPGRADE_SECONDS)
        station.machine.power_cut()
        station.start()
        site.becomes(station, site.whole, UPGRADE_SECONDS)
        station.line.down = False


class Half:
    """A station of 1.0 that the new archives find in the middle of the field's upgrade."""

    def __init__(self, station: Station, site: Site, field: Field) -> None:
        self.station, self.site, self.field = station, site, field

    def steps(self) -> dict[str, Step]:
        return {
            "in-use": Step(self._in_use),
            "old-way": Step(self._old_way, ("in-use",)),
            "half-way": Step(self._half_way, ("in-use",)),
            "three": Step(self._three, ("half-way",)),
            "data": Step(self._data, ("three",)),
        }

    def _in_use(self) -> None:
        station = self.station
        station.start()
        station.line.serve(self.field.then.all())
        station.connect()
        self.site.settle(station)
        self.site.remember(station)
        station.machine.snapshot("in-use")

    def _old_way(self) -> None:
        """The upgrade that it has, called before it had any update."""
        station, site = self.station, self.site
        station.line.serve(self.field.now.all())
        status = station.upgrade()
        assert status == 0, f"the field's holm-upgrade: {status} [R22]: {station.log('upgrade')}"
        missing = site.two(station)
        assert not missing, f"neither a whole 2.0 nor a whole 3.0 [R22]: {missing}"
        refuses(station, self.field.now, site.spares[0], bris="bris", dorg="bris")

    def _half_way(self) -> None:
        """All is fetched of the 2.0 of then, and the power goes while it is installed."""
        station, site = self.station, self.site
        station.machine.restore("in-use")
        station.line.serve(self.field.then.all())
        station.online()
        station.say("touch /root/hold-2.0-pre; sync")
        station.begin_upgrade()
        station.await_word(site.words["2.0", "pre"], UPGRADE_SECONDS)
        station.machine.power_cut()
        station.line.serve(self.field.now.all())
        station.start(START_SECONDS)
        site.becomes(station, site.two, RESUME_SECONDS)

    def _three(self) -> None:
        self.station.nightly("on a station that was half way")
        becomes_three(self.station, self.site)

    def _data(self) -> None:
        self.site.program_is_new(self.station)
        self.site.registers_are_there(self.station)
        self.site.settings_are_there(self.station)
        self.site.configuration_is_right(self.station)

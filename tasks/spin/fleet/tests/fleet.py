"""Stations in the field: how each comes to its state, and what it then goes through by itself.

Each is a Lane of its own beside the checks; a step fails for the check that asks for it.
"""

from __future__ import annotations

import secrets

from archives import Archives
from releases import ALKE, BRIS
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


def one_bad_package(station: Station, now: Archives, site: Site) -> str:
    """Serve all but one package, which is not what the index says; what is wrong, in words."""
    files = now.all()
    needed = [("dorg", "holm-ledger"), ("dorg", site.local)]
    needed += [("bookworm", "bc")] if station.version("bc") is None else []
    suite, name = secrets.choice(needed)
    place = now.place(suite, name)
    files[place] = files[place][:-1] + bytes([files[place][-1] ^ 1])
    station.line.serve(files)
    return f"{name} is not what the index says"


def stays(station: Station, now: Archives, why: str) -> None:
    """A holm-upgrade that has to refuse: nothing is another package or release than before."""
    before = station.release(), station.installed()
    status = station.upgrade()
    station.line.serve(now.all())
    assert status != 0, f"holm-upgrade ends with 0, and {why} [R10]"
    release, there = station.release(), station.installed()
    assert release == before[0], f"{release}, not {before[0]} any more; {why} [R10]"
    changed = sorted(set(there.items()) ^ set(before[1].items()))
    assert not changed, f"{changed[:6]} changed, and {why} [R10]"


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
            "refuses": Step(self._refuses, ("nightly",)),
            "three": Step(self._three, ("nightly",)),
            "data": Step(self._data, ("three",)),
            "cut": Step(self._cut, ("nightly",)),
            "data-after-cut": Step(self._data, ("cut",)),
            "any-moment": Step(self._any_moment, ("nightly",)),
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

    def _refuses(self) -> None:
        station, now = self.station, self.field.now
        station.machine.restore("nightly")
        station.online()
        evil = Deb(self.site.ahead, "9.9")
        station.line.serve({**now.all(), **now.suite("dorg", evil, keys=("bris",))})
        stays(station, now, "dorg is signed by bris.key alone")
        stays(station, now, one_bad_package(station, now, self.site))
        assert station.apt(f"-y install {self.site.spares[2]}") == 0, (
            f"no package of bris is taken any more [R10]: {station.log('apt')}"
        )

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

    def _any_moment(self) -> None:
        """Wherever the drawn moment finds it: looking, fetching, installing, at its end. Nobody
        calls it again."""
        station, site = self.station, self.site
        station.machine.restore("nightly")
        station.line.serve(self.field.now.all())
        station.online()
        station.begin_upgrade()
        moment = station.machine.elapsed + 5 + secrets.randbelow(90)
        station.until(lambda: station.machine.elapsed > moment, 120, "moment for a power cut")
        station.machine.power_cut()
        station.start()
        site.becomes(station, site.whole, RESUME_SECONDS)
        site.registers_are_there(station)
        site.settings_are_there(station)
        site.configuration_is_right(station)


class Half:
    """A station of 1.0 that the new archives find in the middle of the field's upgrade."""

    def __init__(self, station: Station, site: Site, field: Field) -> None:
        self.station, self.site, self.field = station, site, field

    def steps(self) -> dict[str, Step]:
        return {
            "in-use": Step(self._in_use),
            "unlearnt": Step(self._unlearnt, ("in-use",)),
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

    def _unlearnt(self) -> None:
        """A 1.0 that has had the keyring with the stolen key, and then the one without."""
        station, site = self.station, self.site
        station.nightly("on a 1.0, by the archives of then")
        found = station.version("holm-archive-keyring")
        assert found == "1.1", f"by the archives of then it has holm-archive-keyring {found}"
        station.line.serve(self.field.now.all())
        station.nightly("on a 1.0 that had keyring 1.1")
        site.still(station, ONE, ALKE)
        refuses(station, self.field.now, site.spares[0], alke="bris", bookworm="bris")

    def _old_way(self) -> None:
        """The upgrade that it has, called before it had any update: first while a thief has signed
        bris, then with all as it should be."""
        station, site, now = self.station, self.site, self.field.now
        station.machine.restore("in-use")
        station.line.serve(
            {**now.all(), **now.suite("bris", Deb(site.ahead, "9.9"), keys=("bris",))}
        )
        station.online()
        station.upgrade()
        found = station.version(site.ahead)
        assert found == "3.5", (
            f"{site.ahead} {found} is installed; of bris, which bris.key alone has signed [R7]"
        )
        station.machine.restore("in-use")
        station.line.serve(now.all())
        station.online()
        status = station.upgrade()
        assert status == 0, f"the field's holm-upgrade: {status} [R22]: {station.log('upgrade')}"
        missing = site.two(station)
        assert not missing, f"neither a whole 2.0 nor a whole 3.0 [R22]: {missing}"
        wanted = " ".join(["all", *(f"{r}={n}" for r, n in sorted(site.registers.items()))])
        said = station.ask("all", seconds=60)
        assert said == [wanted], f"it has {said[0][:300]!r}, and should have {wanted!r} [R22]"
        refuses(station, now, site.spares[0], bris="bris", dorg="bris")
        station.nightly("on what the holm-upgrade of then made")

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

"""Power that goes while a station upgrades."""

from __future__ import annotations

import secrets
from concurrent.futures import Future
from dataclasses import dataclass

from publisher import Publisher
from site_data import Site
from station import Station

START_SECONDS = 120
UPGRADE_SECONDS = 300


@dataclass(frozen=True)
class Cut:
    """`becomes_whole` is over when `station` was cut off twice and is a whole 2.0 all the same."""

    station: Station
    becomes_whole: Future[None]


def while_it_installs(station: Station, site: Site, publisher: Publisher) -> None:
    """The power goes before and behind the bench's package; from the first time on no archive
    answers."""
    station.start(START_SECONDS)
    station.look_to(publisher)
    station.online()
    station.update("after a start [R9]")
    station.say("touch /root/hold-pre /root/hold-post; sync")
    station.begin_upgrade()
    station.machine.expect(site.words["pre"], timeout=UPGRADE_SECONDS)
    station.machine.power_cut()
    publisher.down = True
    station.machine.boot()
    station.machine.expect(site.words["post"], timeout=UPGRADE_SECONDS)
    station.machine.power_cut()
    station.start(START_SECONDS)
    site.becomes_whole(station, UPGRADE_SECONDS)


def at_drawn_moments(station: Station, site: Site, seconds: float) -> None:
    """Soon after an upgrade has begun; and somewhere in what takes it up, by how many `seconds` one
    took. Nobody calls it again."""
    station.begin_upgrade()
    _cut_after(station, 6 + secrets.randbelow(5))
    _cut_after(station, secrets.randbelow(int(seconds) + 3))
    site.becomes_whole(station, 400)


def _cut_after(station: Station, seconds: float) -> None:
    moment = station.machine.elapsed + seconds
    station.until(lambda: station.machine.elapsed > moment, 600, "moment for a power cut", 0.2)
    station.machine.power_cut()
    station.start(START_SECONDS)

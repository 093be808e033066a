"""Power that goes while a station upgrades, on a station of its own beside the first one."""

from __future__ import annotations

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

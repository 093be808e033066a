"""Machines, files, order of events.

- `station`: the delivered disk, booted once: as new, then with the bench's archives (`publisher`),
  good ones and bad ones; then in use (`settled`, a snapshot), before which upgrades are refused;
  then ready to be upgraded (`ready`, a snapshot). It is upgraded, restarted, and taken back to
  `ready` to lose its power while it fetches.
- `cut`: a copy of its disk as it was `ready`, with archives of its own. It loses its power twice
  while it installs, beside the station's last questions.
- Files: `suites`, the archives as delivered; `keys`, with which the bench signs its own.

Keys and archives that are missing hide nothing of what a station does without them.
"""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from cutting import Cut, while_it_installs
from debs import Deb
from delivered import KEY_OF, SUITES, read_bounded, suite
from publisher import Publisher
from refusing import Bench, still_one
from site_data import Site
from station import Station

from benchflow.boot import GuestError
from benchflow.boot.inspect import openpgp

OUT = "/app/out"


@pytest.fixture(scope="session")
def armours(deliverable):
    """The delivered key files by name, as they are."""
    files = {name: deliverable(f"{OUT}/{name}.key") for name in ("alke", "bris", "base")}
    return {
        name: read_bounded(path, openpgp.ARMOUR_MAX).decode("ascii", "replace")
        for name, path in files.items()
    }


@pytest.fixture(scope="session")
def keys(armours):
    """The delivered secret keys by name."""
    return {name: openpgp.secret_key(text) for name, text in armours.items()}


@pytest.fixture(scope="session")
def stranger():
    return openpgp.Key.stranger(secrets.token_bytes(32))


@pytest.fixture(scope="session")
def archive(deliverable):
    return deliverable(f"{OUT}/archive")


@pytest.fixture(scope="session")
def suites(archive, keys):
    return {name: suite(archive, name, keys[KEY_OF[name]]) for name in SUITES}


@pytest.fixture(scope="session")
def publisher(keys, suites):
    made = Publisher(keys, suites)
    yield made
    made.close()


@pytest.fixture(scope="session")
def station(machines, deliverable, site):
    return Station.create(machines, "station", deliverable, site.port)


@pytest.fixture(scope="session")
def bench(station, publisher, stranger):
    return Bench(station, publisher, stranger)


@pytest.fixture(scope="session")
def settled(station, publisher, site):
    """The station in use, and 2.0 to be had, but for the keyring that brings 2.0's key."""
    publisher.offer("alke", Deb("holm-archive-keyring", "0.9"))
    site.offer(publisher)
    publisher.publish_all(*SUITES)
    station.update()
    site.settle(station)
    station.machine.snapshot("settled")
    return station


@pytest.fixture(scope="session")
def ready(settled, publisher, site):
    """A 1.0 in use that nothing hinders any more; what a wrong upgrade made of it is undone."""
    try:
        still_one(settled, site)
    except (AssertionError, GuestError):
        settled.machine.restore("settled")
        still_one(settled, site)
    publisher.own["alke"].pop("holm-archive-keyring", None)
    site.offer_more(publisher)
    publisher.publish_all(*SUITES)
    site.remember(settled)
    settled.machine.snapshot("ready")
    return settled


@pytest.fixture(scope="session")
def cut(ready, publisher, machines, deliverable, site):
    """A copy of the station as it is, with archives of its own, that loses its power meanwhile."""
    own = publisher.copy()
    other = Station.create(machines, "cut", deliverable, site.port, ready.machine.flatten())
    other.port = site.port
    with ThreadPoolExecutor(1) as pool:
        try:
            yield Cut(other, pool.submit(while_it_installs, other, site, own))
        finally:
            other.machine.close()  # ends what is under way, too
            own.close()


@pytest.fixture(scope="session")
def site():
    """What this run's station has of its own."""
    return Site()


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def word():
    """`word(stem)`: a package's name that nobody knows."""
    return lambda stem: f"{stem}-{secrets.token_hex(3)}"

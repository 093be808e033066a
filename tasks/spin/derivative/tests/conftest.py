"""What the checks share: the keys and suites as delivered, this run's archive, the stations."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from cutting import Cut, while_it_installs
from delivered import KEY_OF, SUITES, read_bounded, suite
from publisher import Publisher
from site_data import Site
from station import Station

from benchflow.boot.inspect import openpgp

OUT = "/app/out"


@pytest.fixture(scope="session")
def keys(deliverable):
    """The delivered secret keys by name."""
    files = {name: deliverable(f"{OUT}/{name}.key") for name in ("alke", "bris", "base")}
    return {
        name: openpgp.secret_key(read_bounded(path, openpgp.ARMOUR_MAX).decode("ascii", "replace"))
        for name, path in files.items()
    }


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
def station(machines, deliverable, publisher):
    return Station.create(machines, "station", deliverable, publisher)


@pytest.fixture(scope="session")
def cut(station, publisher, machines, deliverable, site):
    """A copy of the station as it is, with archives of its own, that loses its power meanwhile."""
    station.say("sync")
    own = publisher.copy()
    disk = station.machine.flatten()
    other = Station.create(machines, "cut", deliverable, own, disk)
    with ThreadPoolExecutor(1) as pool:
        try:
            yield Cut(other, pool.submit(while_it_installs, other, site))
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

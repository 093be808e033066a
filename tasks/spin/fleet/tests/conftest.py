"""Machines, files, order of events.

- `one`: a station of 1.0 as delivered then, in use, that knows only the oldest keyring. It gets the
  updates, refuses thieves and bad upgrades (`ready`, a snapshot), comes to 3.0, is restarted; then
  it is taken back to `ready` to lose its power while it fetches.
- `two`: another one, which comes to 2.0 by the field's own upgrade, then to 3.0, and loses its
  power twice on the way: fleet.Two, in a lane.
- `half`: a third one, in the middle of the field's upgrade when the new archives come: fleet.Half,
  in a lane.
- Archives: `then`, signed as in the field, and `now`, as delivered; both with packages of the
  bench's.
"""

from __future__ import annotations

import secrets

import pytest
from archives import INDEX, SIGNERS, SIGNERS_THEN, SUITES, Archives, Clock, Line
from fleet import ONE, Field, Half, Two
from releases import ALKE
from site_data import Site
from station import FIELD, Station

from benchflow.bench.apt_archive import read_suite
from benchflow.bench.delivered_files import read_bounded
from benchflow.bench.lanes import Lane
from benchflow.boot.inspect import openpgp

OUT = "/app/out"
NAMES = ("alke", "bris", "dorg", "base")


@pytest.fixture(scope="session")
def armours(deliverable):
    """The key files by name, as they are."""
    files = {name: FIELD / f"{name}.key" for name in NAMES if name != "dorg"}
    files["dorg"] = deliverable(f"{OUT}/dorg.key")
    return {
        name: read_bounded(path, openpgp.ARMOUR_MAX).decode("ascii", "replace")
        for name, path in files.items()
    }


@pytest.fixture(scope="session")
def keys(armours):
    """The secret keys by name, and one of ours that nobody knows."""
    found = {name: openpgp.secret_key(text) for name, text in armours.items()}
    return {**found, "stranger": openpgp.Key.stranger(secrets.token_bytes(32))}


@pytest.fixture(scope="session")
def archive(deliverable):
    return deliverable(f"{OUT}/archive")


@pytest.fixture(scope="session")
def suites(archive):
    """The delivered suites, by whatever key they are signed."""
    return {name: read_suite(archive / below, name, INDEX) for name, below in SUITES.items()}


@pytest.fixture(scope="session")
def suites_then():
    return {
        name: read_suite(FIELD / "archive" / SUITES[name], name, INDEX) for name in SIGNERS_THEN
    }


@pytest.fixture(scope="session")
def field_of(suites, suites_then, keys):
    """`field_of(site)`: the archives of then and now, with a station's packages."""
    clock = Clock()

    def field_of(site: Site) -> Field:
        then = Archives(suites_then, keys, SIGNERS_THEN, clock)
        now = Archives(suites, keys, SIGNERS, clock)
        site.offer(then)
        site.offer(now)
        return Field(then, now)

    return field_of


@pytest.fixture(scope="session")
def lines():
    """`lines()`: another line."""
    made: list[Line] = []

    def lines() -> Line:
        made.append(Line())
        return made[-1]

    yield lines
    for line in made:
        line.close()


@pytest.fixture(scope="session")
def site():
    return Site(changed=True)


@pytest.fixture(scope="session")
def field(field_of, site):
    return field_of(site)


@pytest.fixture(scope="session")
def now(field):
    return field.now


@pytest.fixture(scope="session")
def one(machines, lines, site, field, two, half):
    """A 1.0 in use, with an oldest keyring; the lanes have begun."""
    station = Station(machines, "one", lines(), site.port)
    station.start()
    station.line.serve(field.then.all())
    station.connect()
    site.settle(station)
    station.line.serve(field.now.all())
    return station


@pytest.fixture(scope="session")
def ready(one, site):
    """A 1.0 that has had the updates; what a wrong upgrade made of it is undone."""
    if one.machine.alive and one.release() != ONE:
        one.machine.restore("updated")
    site.still(one, ONE, ALKE)
    site.remember(one)
    one.machine.snapshot("ready")
    return one


@pytest.fixture(scope="session")
def two(machines, lines, field_of):
    """What a 2.0 goes through: Two.steps."""
    site = Site(changed=False)
    station = Station(machines, "two", lines(), site.port)
    with Lane(Two(station, site, field_of(site)).steps(), station.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def half(machines, lines, field_of):
    """What a station goes through that was half way to 2.0: Half.steps."""
    site = Site(changed=True)
    station = Station(machines, "half", lines(), site.port)
    with Lane(Half(station, site, field_of(site)).steps(), station.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def word():
    """`word(stem)`: a package's name that nobody knows."""
    return lambda stem: f"{stem}-{secrets.token_hex(3)}"

"""What the checks share: the order's files, the machines, and the states that they start from."""

from __future__ import annotations

import time

import pytest
from bundle import Vendor
from dead import dead_versions
from lane import Lane
from media import Media
from power import Cuts
from unit import PASSWORD, Layout, Unit, on_bench

FIRST = "/app/out/first.bundle"
KEY = "/app/out/vendor.pem"


@pytest.fixture(scope="session")
def disk(image):
    return image()


@pytest.fixture(scope="session")
def layout(disk):
    return Layout.of(disk)


@pytest.fixture(scope="session")
def vendor(deliverable, work):
    folder = work / "vendor"
    folder.mkdir()
    return Vendor(deliverable(FIRST), deliverable(KEY).read_bytes(), folder)


@pytest.fixture(scope="session")
def media(vendor, work):
    folder = work / "media"
    folder.mkdir()
    return Media(vendor, folder)


@pytest.fixture(scope="session")
def second_disk(media):
    return media.disk()


@pytest.fixture(scope="session")
def unit(machines, deliverable, layout, media, second_disk):
    machine = on_bench(machines, "unit", deliverable(), second_disk)
    releases = {release.version: release for release in media.releases.values()}
    return Unit(machine, layout, releases, [])


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def twin(unit, machines, second_disk):
    """`twin(name)`: a unit that is switched off, with a copy of the first one's disk as it is."""

    def twin(name: str) -> Unit:
        unit.say("sync")
        machine = on_bench(machines, name, unit.machine.flatten(), second_disk)
        return Unit(machine, unit.layout, unit.releases, list(unit.records))

    return twin


@pytest.fixture(scope="session")
def dead(twin, media):
    """What another unit, like the first one after its first start, is given meanwhile."""
    other = twin("dead")
    with Lane(dead_versions(other, media, media.releases["first"]), other.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def idle(machines, deliverable):
    """A unit without bundles, left to itself beside the others; its step `start` says since when.

    In seconds of `time.monotonic`, as its own clocks run on a slow host, too.
    """
    machine = on_bench(machines, "idle", deliverable(), None)

    def start() -> float:
        machine.boot()
        machine.login("root", PASSWORD, timeout=60)
        return time.monotonic()

    with Lane({"start": start}, machine.close) as lane:
        yield machine, lane


@pytest.fixture(scope="session")
def cuts(twin, media):
    """What a unit like the first one after its second update is given meanwhile: ten power cuts."""
    other = twin("cuts")
    steps = Cuts(other, media, media.releases["third"]).steps()
    with Lane(steps, other.machine.close) as lane:
        yield lane

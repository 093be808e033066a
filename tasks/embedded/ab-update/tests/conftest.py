"""What the checks share: machines, files, order of events.

Machines: `unit` is asked throughout. Beside it, each in a lane of `bench`: `dead`, from a copy of
its disk after the first start, is given versions that cannot live (dead.py); `cuts`, from a copy
after its second update, crashes and loses its power (power.py); `idle`, fresh, is left to itself
after wrong passwords; `lost` is the unit's disk without its data. Units with a torn sector come
last, two at a time.
Files: bundle.py and media.py make what is on the second disk, unit.py asks a unit and compares its
slots with what it says, delivered.py reads what lies on the disk before anything starts.
Order: 1 (delivered) → second → third → unhealthy (fails) → flaky (confirmed at its third try) →
next → back to flaky → without data, while sick (fails) waits.
"""

from __future__ import annotations

import secrets
import time

import pytest
from bundle import Vendor
from dead import DeadVersions
from media import Media
from power import Cuts
from unit import PASSWORD, Layout, Unit, on_bench

from benchflow.bench.lanes import Lane, Step
from benchflow.boot import Disk, GuestError
from benchflow.boot.errors import LoginFailed

FIRST = "/app/out/first.bundle"
KEY = "/app/out/vendor.pem"
#: Real seconds: the watchdog's 60, and what a unit may take to act on them.
LEFT_ALONE = 85


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
def word():
    """What lies on the second disk beside the bundles."""
    return secrets.token_hex(8)


@pytest.fixture(scope="session")
def media(vendor, work, word):
    folder = work / "media"
    folder.mkdir()
    return Media(vendor, folder, word)


@pytest.fixture(scope="session")
def second_disk(request, work, word):
    """The second disk; one without bundles where none can be made."""
    try:
        return request.getfixturevalue("media").disk()
    except (AssertionError, GuestError):
        return Disk.of_files(work / "word.img", {"word": f"{word}\n".encode()})


@pytest.fixture(scope="session")
def releases(request):
    """Ours, by their numbers."""
    try:
        return {one.version: one for one in request.getfixturevalue("media").releases.values()}
    except (AssertionError, GuestError):
        return {}


@pytest.fixture(scope="session")
def unit(machines, deliverable, layout, releases, second_disk):
    return Unit(on_bench(machines, "unit", deliverable(), second_disk), layout, releases, [])


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def twin(unit, machines, second_disk):
    """`twin(name)`: a unit that is switched off, with a copy of the first one's disk as it is."""

    def twin(name: str) -> Unit:
        unit.up()
        unit.say("sync")
        machine = on_bench(machines, name, unit.machine.flatten(), second_disk)
        return Unit(machine, unit.layout, unit.releases, list(unit.records))

    return twin


@pytest.fixture(scope="session")
def dead(twin, media):
    """What another unit, like the first one after its first start, is given meanwhile."""
    other = twin("dead")
    with Lane(DeadVersions(other, media).steps(), other.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def idle(machines, deliverable):
    """A unit without bundles. Its steps: `passwords` (those that let somebody in), `alone` (what it
    says of itself when it was left to itself)."""
    machine = on_bench(machines, "idle", deliverable(), None)
    since: list[float] = []

    def passwords() -> list[str]:
        machine.boot()
        found = []
        more = secrets.token_hex(3)
        for wrong in ("", PASSWORD[:8], f"{PASSWORD}{more}", f"{PASSWORD[:-1]}8", more,
                      PASSWORD.swapcase()):  # fmt: skip
            try:
                machine.login("root", wrong, timeout=60)
                found.append(wrong)
            except LoginFailed:
                since[:] = since or [time.monotonic()]
        return found

    def alone() -> str:
        machine.login("root", PASSWORD, timeout=60)
        began = since[0] if since else time.monotonic()
        # Its own clocks run in real seconds, on a slow host too.
        while machine.alive and time.monotonic() - began < LEFT_ALONE:
            time.sleep(0.5)
        assert machine.boots == 1, "a confirmed version was restarted [R18, R20]"
        said: str = machine.shell.run("update status").stdout
        machine.close()
        return said

    with Lane({"passwords": Step(passwords), "alone": Step(alone)}, machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def cuts(twin, media):
    """What a unit like the first one after its second update goes through meanwhile."""
    other = twin("cuts")
    with Lane(Cuts(other, media).steps(), other.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def lost(unit, machines, second_disk, media):
    """The unit after its data are lost, switched off; and what it has to say then: a version waited
    that is tried in vain."""
    unit.up()
    unit.installs(media.path("sick"))
    due = {**unit.status(), "other": "failed"}
    unit.say("sync")
    unit.machine.power_cut()
    disk = unit.machine.flatten()
    unit.layout.fill(disk, "data", secrets.choice((bytes, secrets.token_bytes)))
    machine = on_bench(machines, "lost", disk, second_disk)
    return Unit(machine, unit.layout, unit.releases, []), due

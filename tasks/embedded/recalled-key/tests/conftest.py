"""What the checks share: machines, files, order of events.

`field` lives the life of a unit before the recall in a lane of its own; copies of its disk are the
histories (fleet.py). `unit`, from the history in slot a, is asked throughout; `lost` is its disk
right after the recall, without data; `dead-a`, the same disk, and `dead-b`, a new unit with board
B, are given versions that cannot live, each in a lane of its own; `cuts`, from the history in slot
b, loses its power around the recall; `rev-b` is a new unit with board B.
Order on `unit`: the field's `low`, waiting → recall → next → back to recall → sick (fails).
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import pytest
from bundle import FieldVendor, NextVendor
from dead import Dead
from fleet import Fleet, Moment, updated
from media import Media, of_a_recall_in_vain, of_a_thief, of_the_field, of_the_next_key
from power import Cuts
from unit import Layout, Unit, board_a, board_b

from benchflow.bench.lanes import Lane
from benchflow.boot import Image

FIELD = Path("/field")
RECALL = "/app/out/recall.bundle"
IMAGE_B = "/app/out/unit-b.img"
KEY = "/app/out/next.pem"


@pytest.fixture(scope="session")
def old(work):
    folder = work / "old"
    folder.mkdir()
    pem = (FIELD / "vendor.pem").read_bytes()
    return FieldVendor(FIELD / "first.bundle", pem, folder)


@pytest.fixture(scope="session")
def next_vendor(deliverable, work):
    folder = work / "next"
    folder.mkdir()
    return NextVendor(deliverable(RECALL), deliverable(KEY).read_bytes(), folder)


@pytest.fixture(scope="session")
def disk_b(image):
    return image(IMAGE_B)


@pytest.fixture(scope="session")
def layout_b(disk_b):
    return Layout.of(disk_b)


@pytest.fixture(scope="session")
def layout():
    return Layout.of(Image(FIELD / "unit.img"))


@pytest.fixture(scope="session")
def again(work, deliverable):
    """Who signs the delivered slot image with the recalled key."""
    folder = work / "again"
    folder.mkdir()
    return FieldVendor(deliverable(RECALL), (FIELD / "vendor.pem").read_bytes(), folder)


@pytest.fixture(scope="session")
def media(work, deliverable, old, again, next_vendor):
    folder = work / "media"
    folder.mkdir()
    made = Media(folder, secrets.token_hex(8))
    of_the_field(made, old, deliverable(RECALL))
    of_a_recall_in_vain(made, again)
    of_a_thief(made, old, next_vendor.release1)
    of_the_next_key(made, next_vendor)
    return made


@pytest.fixture(scope="session")
def second_disk(media):
    return media.disk()


@pytest.fixture(scope="session")
def make(machines, layout, media, second_disk):
    """`make(name, moment)`: a unit of the field that is switched off, as it was at that moment."""

    def make(name: str, moment: Moment, alone: bool = False) -> Unit:
        machine = board_a(machines, name, moment.disk, None if alone else second_disk)
        unit = Unit(machine, layout, media.by_number(), list(moment.records))
        unit.hostname, unit.config = moment.hostname, moment.config
        return unit

    return make


@pytest.fixture(scope="session")
def field(make, media):
    """The histories, made meanwhile: Fleet.steps."""
    unit = make("field", Moment(FIELD / "unit.img", (), "unit"))
    with Lane(Fleet(unit, media).steps(), unit.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def just_recalled(make, field, media):
    """A unit that took the recall, and what its disk was right after it."""
    unit = updated(make, "unit", field.result("slot-a"), media)
    unit.say("sync")
    return unit, Moment.of(unit)


@pytest.fixture(scope="session")
def unit(just_recalled):
    return just_recalled[0]


@pytest.fixture(scope="session")
def recalled(just_recalled):
    return just_recalled[1]


@pytest.fixture(scope="session")
def dead_a(make, recalled, media):
    unit = make("dead-a", recalled)
    with Lane(Dead(unit, media, "dawdles", "hangs").steps(), unit.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def dead_b(new_b, media):
    unit = new_b("dead-b")
    steps = Dead(unit, media, "garbage", "ends", "hangs").steps()
    with Lane(steps, unit.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def noise():
    """On which of the boards noise is left of the data, and on which zeros."""
    return secrets.choice("ab")


@pytest.fixture(scope="session")
def cuts(make, field, media):
    """What a unit goes through whose power is cut around the recall: Cuts.steps."""
    unit = make("cuts", field.result("slot-b"))
    with Lane(Cuts(unit, media).steps(), unit.machine.close) as lane:
        yield lane


@pytest.fixture(scope="session")
def lost(make, recalled, layout, work, noise):
    """The unit whose data are lost right after the recall, switched off."""
    disk = work / "lost.img"
    shutil.copyfile(recalled.disk, disk)
    layout.wipe(disk, noise == "a")
    return make("lost", Moment(disk, (), "unit"))


@pytest.fixture(scope="session")
def new_b(machines, deliverable, layout_b, media, second_disk):
    """`new_b(name, disk=None)`: a unit with board B, switched off; a new one without a disk."""

    def new_b(name: str, disk: Path | None = None, alone: bool = False) -> Unit:
        second = None if alone else second_disk
        machine = board_b(machines, name, disk or deliverable(IMAGE_B), second)
        return Unit(machine, layout_b, media.by_number(), [])

    return new_b


@pytest.fixture(scope="session")
def rev_b(new_b):
    return new_b("rev-b")

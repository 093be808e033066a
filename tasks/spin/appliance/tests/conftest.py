"""What the checks share.

Machines: `unit` (A: virtio, a disk larger than the image, a neighbour of ours on its cable), asked
nearly everything; `other` (B), the other model; `returned` (C), A's disk with the factory-reset
word in its boot entry; at the end one (D) with C's disk and another word. One is on at a time.
Files: the delivered image, of which each unit has a copy or an overlay; the customer's private key;
`story` is what earlier boots left for later checks, `used` A's disk after all that.
Order, in ten boots: A starts and is asked, restarts once with a full /data and once after a power
cut, is filled and read; B loses power in the middle of its first start, starts, loses it as soon as
it is up, and starts; C loses power in the middle of its reset, completes it, loses it as soon as it
is up, and starts; D, of the other model, is reset again.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from boot_entry import with_word
from story import DISK_BYTES, IDENTITY, OTHER_BYTES, Story, disk_of_a, private_marks
from unit import SERVICE, Unit
from wire import Neighbour, cable

from benchflow.boot import Disk, Nic

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def story() -> Story:
    ports = [secrets.randbelow(900) + 100, secrets.randbelow(50000) + 10000]
    return Story(closed_ports=ports)


def longer(image: Path, disk: Path, size: int) -> Path:
    """A disk that production wrote the image on."""
    subprocess.run(["cp", "--sparse=always", str(image), str(disk)], check=True)
    with disk.open("r+b") as file:
        file.truncate(size)
    return disk


@pytest.fixture(scope="session")
def unit(machines, deliverable, work, story) -> Unit:
    """Unit A, model 300, with a neighbour of ours on its cable."""
    disk = longer(deliverable(), work / "a.img", DISK_BYTES)
    folder = work / "A"
    folder.mkdir()
    machine = machines.create(
        "model-300",
        disks=[Disk(disk)],
        extra_args=cable(folder, [22, SERVICE, *story.closed_ports]),
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", folder)


@pytest.fixture(scope="session")
def neighbour(unit, work) -> Iterator[Neighbour]:
    found = Neighbour(work / "A")
    yield found
    found.close()


@pytest.fixture(scope="session")
def other(machines, deliverable, work, story) -> Unit:
    """Unit B, model 100, with another disk that is larger than the image."""
    disk = longer(deliverable(), work / "b.img", OTHER_BYTES)
    machine = machines.create(
        "model-100",
        disks=[Disk(disk, bus="nvme", serial=secrets.token_hex(4))],
        nics=[Nic(model="e1000e", forwards=[22, SERVICE, *story.closed_ports])],
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", work / "B")


@pytest.fixture(scope="session")
def used(unit, story) -> Path:
    """A's disk; what a check before left undone is done now."""
    if not story.machine_id and story.disk_of_a is None:
        story.machine_id, story.host_keys = unit.say(IDENTITY), unit.host_keys()
        story.private += private_marks(unit)
    return disk_of_a(unit, story)


@pytest.fixture(scope="session")
def returned(machines, used, work, story) -> Unit:
    """Unit C: A's disk, with a reset word added to its boot entry's options, nothing else."""
    disk = work / "c.img"
    subprocess.run(["cp", "--sparse=always", str(used), str(disk)], check=True)
    machine = machines.create(
        "returned",
        disks=[Disk(with_word(disk, work, story.word, first=True))],
        nics=[Nic(forwards=[22, SERVICE])],
        vga=False,
    )
    return Unit(machine, HERE / "customer_key", work / "C")

"""The site's services; the machine, and others that begin from its disk or from the delivered one.

- `machine`: the delivered disk with the settings disk, as in the order. `service` is Kinto on it.
- `kept`: its disk after it was switched off in order; sources and keys are looked for there.
- `alone`: started after a power cut, without services. `cut`: its disk after another one.
- `rotated`: that disk with other keys. `elsewhere`: the delivered disk on other hardware.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest
from service import PASSWORD, PORT, Service
from site_data import Site

from benchflow.bench import service_machine
from benchflow.bench.guest import Guest
from benchflow.boot import Disk, Nic

HOST = "10.0.2.2"
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def site(work):
    made = Site(work)
    yield made
    made.close()


@pytest.fixture(scope="session")
def machine(machines, deliverable, site):
    return machines.create(
        "main", firmware="bios", cpus=2,
        disks=[Disk(deliverable()), site.settings(HOST)],
        nics=[Nic(forwards=[PORT], restrict=False)],
    )  # fmt: skip


@pytest.fixture(scope="session")
def guest(machine):
    return Guest(machine, PASSWORD, login_seconds=240)


@pytest.fixture(scope="session")
def service(machine, site):
    return Service(machine, site.admin)


@pytest.fixture(scope="session")
def told():
    """Digests of the sources, versions of the wheels, names of tests that pass upstream."""
    return json.loads((HERE / "upstream.json").read_text())


@pytest.fixture(scope="session")
def record(service):
    """A collection, and a record that was acknowledged."""
    path = service.collection("kept" + secrets.token_hex(3))
    data = {"word": secrets.token_hex(8)}
    service.write(path, "first", data)
    return path, data["word"]


@pytest.fixture(scope="session")
def kept(guest):
    """The main machine's disk, after it was switched off in order."""
    guest.power_off(120)
    return guest.machine.flatten()


@pytest.fixture(scope="session")
def filesystems(kept):
    return service_machine.filesystems(kept)


@pytest.fixture(scope="session")
def srv(filesystems):
    """The file system that has the sources, and where: `/srv` may be one of its own."""
    return service_machine.with_sources(filesystems, "kinto/pyproject.toml")


@pytest.fixture(scope="session")
def alone(machine, guest, site, service, record):
    """The main machine started after a power cut, while no service is there; the word of what was
    acknowledged last."""
    path, word = record[0], secrets.token_hex(8)
    service.write(path, "last", {"word": word})
    machine.power_cut()
    site.stop()
    try:
        machine.boot()
        guest.enter()
    except BaseException:
        site.start()
        raise
    return word


@pytest.fixture(scope="session")
def watched(alone, guest):
    """That machine's notes of the arguments of every process from now on."""
    return service_machine.watch_arguments(guest)


@pytest.fixture(scope="session")
def cut(machine):
    """The main machine's disk when its power was cut."""
    machine.power_cut()
    return machine.flatten()


@pytest.fixture(scope="session")
def rotated(machines, cut, site):
    site.rotate()
    made = machines.create(
        "rotated", firmware="bios", cpus=2, disks=[Disk(cut), site.settings(HOST, kind="ext4")],
        nics=[Nic(forwards=[PORT], restrict=False)],
    )  # fmt: skip
    made.boot()
    yield Service(made, site.admin)
    made.power_cut()


@pytest.fixture(scope="session")
def elsewhere(machines, deliverable, site):
    settings = site.settings(service_machine.OTHER_HOST, bus="usb", kind="ext4")
    disks = [Disk(deliverable(), bus="sata"), settings]
    made, port = service_machine.on_other_hardware(machines, disks, PORT)
    return Service(made, site.admin, port)

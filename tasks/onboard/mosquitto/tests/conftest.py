"""The site's office; the machines, each of which begins from the delivered disk.

- `machine`: with the settings disk, as in the order. `service` is the broker on it; it is asked for
  everything, switched off and on, cut off from its power, and started while the office is away.
- `rotated`: its disk after it was switched off, with other keys.
- `elsewhere`: other hardware, another network.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from pathlib import Path

import pytest
from asked import VERSION_LINE, telling_source
from mqtt import V5
from service import LATE_SECONDS, PASSWORD, PORT, Service, drawn
from site_data import HOST, Site

from benchflow.bench import service_machine
from benchflow.bench.guest import Guest
from benchflow.bench.service_machine import OTHER_HOST
from benchflow.boot import CheckMisuse, Disk, Nic

HERE = Path(__file__).parent
SRV = "/srv/mosquitto"
BUILD_SECONDS = 900
#: What the order gives before a power cut.
WRITTEN_SECONDS = 30


@pytest.fixture(scope="session")
def site(work):
    made = Site(work)
    yield made
    made.close()


@pytest.fixture(scope="session")
def told():
    """Digests of the sources, names of tests, and changes that break some of these."""
    return json.loads((HERE / "upstream.json").read_text())


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
    return Service(machine, site)


@pytest.fixture(scope="session")
def rebuilt(guest):
    """How a build on the machine ended, the word that its broker tells since, and the arguments of
    all processes meanwhile, a line each."""
    word, path = secrets.token_hex(8), f"{SRV}/src/sys_tree.c"
    text = guest.machine.shell.read_file(path)
    assert VERSION_LINE.encode() in text, f"{path} is not as in /app [R2]"
    guest.write(path, telling_source(text.decode(), word))
    notes = service_machine.watch_arguments(guest)
    done = guest.run("project-build 2>&1", BUILD_SECONDS)
    guest.write(path, text)
    return done, word, service_machine.watched_arguments(guest, notes)


@pytest.fixture(scope="session")
def alone(machine, guest, service, site):
    """The machine switched off and on, then cut off from its power and started, and what it was
    given before each.

    While it is off the office sends a note; while it is cut off, and when it starts, the office is
    away.
    """
    reader = service.client(site.viewer, id=drawn("k"), keep=True).subscribe("notes/#")
    reader.close()
    given = {"reader": reader.id, "note": drawn(), "early": drawn(), "late": drawn()}
    given["off"] = _given(service, site)
    guest.power_off(120)
    head = service.head()
    head.publish(f"sites/{site.name}/notes/{given['note']}", given["note"])
    head.close()
    machine.boot()
    guest.enter()
    notes = service_machine.watch_arguments(guest)
    service.ready()
    given["off"]["found"] = found(service, site, given["off"])
    given["shown"] = service_machine.watched_arguments(guest, notes)
    again = service.client(site.viewer, id=reader.id, keep=True)
    deadline = machine.deadline(LATE_SECONDS)
    while not again.of(f"notes/{given['note']}") and deadline.remaining() > 0:
        service.rest(0.5)
    given["notes"] = again.of(f"notes/{given['note']}")
    again.close()

    given["head"] = drawn("k")
    service.head(id=given["head"], keep=True).subscribe(f"sites/{site.name}/stations/#").close()
    site.office.stop()
    station = service.client(site.stations[0])
    station.publish(f"stations/{site.stations[0]}/early", given["early"])
    station.close()
    given["cut"] = _given(service, site)
    service.rest(WRITTEN_SECONDS)
    machine.power_cut()
    given["disk"] = machine.flatten()
    machine.boot()
    service.ready()
    given["cut"]["found"] = found(service, site, given["cut"])
    station = service.client(site.stations[0], version=V5)
    station.publish(f"stations/{site.stations[0]}/late", given["late"])
    station.close()
    site.office.start()
    given["office"] = service.head(id=given["head"], keep=True)
    return given


def is_at_the_office(service, site, alone, word):
    """What a station said while the office was away has come there since."""
    topic = f"sites/{site.name}/stations/{site.stations[0]}/{word}"
    got = service.told(alone["office"], topic, LATE_SECONDS)
    assert got.payload == alone[word].encode()


def _given(service, site):
    """A retained message, and one that waits for a client whose session is kept."""
    name, word, waits = site.stations[0], drawn(), drawn()
    topics = (f"stations/{name}/{drawn()}", f"stations/{name}/{drawn()}")
    reader = service.client(site.operator, id=drawn("k"), keep=True).subscribe(topics[1])
    reader.close()
    station = service.client(name)
    station.publish(topics[0], word, retain=True)
    station.publish(topics[1], waits)
    station.close()
    return {"topics": topics, "payloads": (word.encode(), waits.encode()), "reader": reader.id}


def found(service, site, given):
    """Which of these is there, taken from where it waits."""
    fresh = service.client(site.viewer).subscribe(given["topics"][0])
    kept = service.client(site.operator, id=given["reader"], keep=True)
    places = ((fresh, given["topics"][0]), (kept, given["topics"][1]))
    deadline = service.machine.deadline(20)
    while not all(client.of(topic) for client, topic in places) and deadline.remaining() > 0:
        service.rest(0.2)
    came = [client.of(topic) for client, topic in places]
    seen = tuple(one[0].payload if one else b"" for one in came)
    fresh.close()
    kept.close()
    return seen


def again(guest):
    """Root is logged in, whatever was before."""
    if guest.machine.alive:
        with contextlib.suppress(CheckMisuse):  # nobody is logged in
            guest.machine.shell.close()
    else:
        guest.machine.boot()
    guest.enter()


@pytest.fixture(scope="session")
def waiting(machine, guest, service, site):
    """What waits on the machine for its next start."""
    again(guest)
    service.ready()
    return _given(service, site)


@pytest.fixture(scope="session")
def kept(machine, guest, waiting):
    """The machine's disk, after it was switched off in order."""
    guest.power_off(120)
    return machine.flatten()


@pytest.fixture(scope="session")
def srv_disk(machine, guest):
    """The same, whatever its broker did."""
    again(guest)
    guest.power_off(120)
    return machine.flatten()


@pytest.fixture(scope="session")
def srv(srv_disk):
    """The file system that has the sources, and where: `/srv` may be one of its own."""
    found = service_machine.filesystems(srv_disk)
    files, top = service_machine.with_sources(found, "mosquitto/src/mosquitto.c")
    return files, f"{top}mosquitto/"


@pytest.fixture(scope="session")
def old(kept, site):
    """The users and the key for seals of the machine that was switched off."""
    return {"users": dict(site.users), "seal": site.seal_key}


@pytest.fixture(scope="session")
def rotated(machines, kept, site, old):
    """That disk started with other keys."""
    site.rotate()
    made = machines.create(
        "rotated", firmware="bios", cpus=2,
        disks=[Disk(kept), site.settings(HOST, kind="ext4")],
        nics=[Nic(forwards=[PORT], restrict=False)],
    )  # fmt: skip
    made.boot()
    return Service(made, site)


@pytest.fixture(scope="session")
def elsewhere(machines, deliverable, site):
    disks = [Disk(deliverable(), bus="sata"), site.settings(OTHER_HOST, bus="usb", kind="ext4")]
    made, port = service_machine.on_other_hardware(machines, disks, PORT)
    return Service(made, site, port)


def sum_of(word):
    """What the broker tells that was built with this word."""
    return hashlib.sha256(word.encode()).hexdigest()[:62]

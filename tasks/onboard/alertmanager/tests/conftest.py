"""The site's services; the machines, each of which begins from the delivered disk.

- `machine`: one of the cluster, with the settings disk, as in the order. `service` is Alertmanager
  on it; it is restarted, cut off, and started while no service is there.
- `second`: the other one of the cluster, started when the first was asked much. It is cut off.
- `rotated`: the first one's disk after a power cut, with other keys.
- `elsewhere`: other hardware, no cluster. It is switched off in order.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest
from asked import telling_program
from service import PASSWORD, PORT, TOLD_SECONDS, Service, drawn
from site_data import HOST, OTHER_HOST, Site

from benchflow.bench import service_machine
from benchflow.bench.guest import Guest
from benchflow.boot import Disk, Nic

HERE = Path(__file__).parent
SRV = "/srv/alertmanager"
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
        disks=[Disk(deliverable()), site.settings(HOST, 0)], nics=_cards(site, 0),
    )  # fmt: skip


@pytest.fixture(scope="session")
def guest(machine):
    return Guest(machine, PASSWORD, login_seconds=240)


@pytest.fixture(scope="session")
def service(machine, site):
    return Service(machine, site.authority.pem, site.web_password)


@pytest.fixture(scope="session")
def rebuilt(guest):
    """How a build on the machine ended, the words that its programs tell since, and the arguments
    of all processes meanwhile, a line each."""
    words = {"alertmanager": secrets.token_hex(8), "amtool": secrets.token_hex(8)}
    for program, word in words.items():
        guest.write(f"{SRV}/cmd/{program}/bench.go", telling_program(word))
    notes = service_machine.watch_arguments(guest)
    done = guest.run("project-build 2>&1", BUILD_SECONDS)
    guest.say(f"rm {SRV}/cmd/*/bench.go")
    return done, words, service_machine.watched_arguments(guest, notes)


@pytest.fixture(scope="session")
def second(machines, deliverable, site, guest):
    """The cluster's other machine; Alertmanager answers there, and both have run for a while."""
    made = machines.create(
        "second", firmware="bios", cpus=2,
        disks=[Disk(deliverable()), site.settings(HOST, 1, kind="ext4")], nics=_cards(site, 1),
    )  # fmt: skip
    made.boot()
    found = Service(made, site.authority.pem, site.web_password)
    found.ready()
    found.rest(120)
    return found


@pytest.fixture(scope="session")
def second_disk(second):
    """The other machine's disk when its power was cut."""
    second.machine.power_cut()
    return second.machine.flatten()


@pytest.fixture(scope="session")
def elsewhere(machines, deliverable, site):
    disks = [Disk(deliverable(), bus="sata"), site.settings(OTHER_HOST, bus="usb", kind="ext4")]
    made, port = service_machine.on_other_hardware(machines, disks, PORT)
    return Service(made, site.authority.pem, site.web_password, port)


@pytest.fixture(scope="session")
def alone(machine, guest, service, site):
    """The first machine, restarted in order, cut off from its power and started while no service
    is there, with an alert that came then: what it was given and told before each."""
    given = {"service": service, "after a restart": _given(service, site), "late": drawn("L")}
    guest.restart(240, down_seconds=120)
    service.ready()
    given["after a restart"]["found"] = service.silences()
    given["after a power cut"] = _given(service, site)
    service.rest(WRITTEN_SECONDS)
    machine.power_cut()
    with site.away():
        machine.boot()
        service.ready()
        service.fire({"alertname": given["late"], "site": drawn("s")})
        service.rest(TOLD_SECONDS)
    return given


def _given(service, site):
    """A silence that was acknowledged, the alert that it is for, and one that was told."""
    silent, told = drawn(), drawn()
    silence = service.silence(silent)
    service.fire({"alertname": told, "site": "kept"})
    service.until(lambda: site.audit.telling(told), TOLD_SECONDS, "alert at the audit")
    return {"silence": silence, "silent": silent, "told": told}


@pytest.fixture(scope="session")
def kept(machine, guest):
    """The first machine's disk, after it was switched off in order."""
    if not machine.alive:
        machine.boot()
    guest.enter()
    guest.power_off(120)
    return machine.flatten()


@pytest.fixture(scope="session")
def srv(kept):
    """The file system that has the sources, and where: `/srv` may be one of its own."""
    found = service_machine.filesystems(kept)
    files, top = service_machine.with_sources(found, "alertmanager/go.mod")
    return files, f"{top}alertmanager/"


@pytest.fixture(scope="session")
def rotated(machines, kept, site):
    """That disk started with other keys."""
    site.rotate()
    made = machines.create(
        "rotated", firmware="bios", cpus=2,
        disks=[Disk(kept), site.settings(HOST, 0, kind="ext4")], nics=_cards(site, 0),
    )  # fmt: skip
    made.boot()
    return Service(made, site.authority.pem, site.web_password)


def _cards(site, member):
    return [
        Nic(forwards=[PORT], restrict=False),
        Nic(lan="cluster", mac=site.cards[member]),
    ]

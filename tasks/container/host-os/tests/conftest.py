"""What the checks share: machines, files, order of events.

Machines: `bare` has no carrier; `host` has the first one, and is asked through the ports of its
containers from `runs` to `keeps`; its disk goes on in `alone` (no carrier), `astray` (a carrier
whose list is malformed) and `later` (a second carrier, with bundles).
Files: programs.py and site_data.py make images, declarations and the first carrier,
bundle.py and media.py the second one; host.py asks a cabinet; questions.py, confinement.py,
bounds.py, changes.py and versions.py are what is asked; delivered.py reads the disk as it came.
Order: list of the first carrier, `next` applied, back to the first, a power cut, off; started twice
without a list; the second carrier's list; version 1 → good → back → cut while writing → dead → ill.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from bundle import Vendor
from host import Host, on_bench
from media import Media
from site_data import RUNNING, Site

from benchflow.bench.slot_bundles import DeliveredSlots
from benchflow.boot import BadDeliverable

BUSYBOX = "3d9f2889d6782537624a4e1a10e68a2ddd53e0ee8bac02676f27308f42ec6bf6"


@pytest.fixture(scope="session")
def busybox(deliverable):
    path: Path = deliverable("/app/bench") / "busybox"
    if path.is_symlink() or not path.is_file():
        raise BadDeliverable("/app/bench/busybox is missing")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != BUSYBOX:
        raise BadDeliverable("/app/bench/busybox was changed")
    return data


@pytest.fixture(scope="session")
def disk(image):
    return image()


@pytest.fixture(scope="session")
def layout(disk):
    return DeliveredSlots.of(disk)


@pytest.fixture(scope="session")
def vendor(deliverable, layout, work):
    folder = work / "vendor"
    folder.mkdir()
    pem = deliverable("/app/out/vendor.pem").read_bytes()
    size = layout.place("slot-a")[1]
    return Vendor(deliverable("/app/out/first.bundle"), pem, size, folder)


@pytest.fixture(scope="session")
def site(busybox, work):
    folder = work / "site"
    folder.mkdir()
    return Site(busybox, folder)


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def bare(machines, deliverable):
    """A cabinet without a carrier."""
    return Host(on_bench(machines, "bare", deliverable(), None))


@pytest.fixture(scope="session")
def first(site, work):
    """The first carrier."""
    return site.carrier(work / "first.img", site.first, **site.others())


@pytest.fixture(scope="session")
def host(machines, deliverable, first):
    """A cabinet with the first carrier, started, with what is to stay running there."""
    one = Host(on_bench(machines, "host", deliverable(), first))
    one.start()
    one.settled(RUNNING)
    return one


@pytest.fixture(scope="session")
def media(vendor, site, work):
    return Media(vendor, site, work)


@pytest.fixture(scope="session")
def later(machines, media, shared, work, deliverable):
    """The same cabinet, later, with the second carrier, which also holds bundles.

    A new one, where the first cabinet could not be switched off.
    """
    disk = shared.get("disk") or deliverable()
    return Host(on_bench(machines, "later", disk, media.carrier(work / "second.img")))

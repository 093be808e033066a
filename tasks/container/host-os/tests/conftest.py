"""What the checks share: the order's files, the carriers, and the cabinets."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from bundle import Vendor
from host import Host, Layout, on_bench
from media import Media
from site_data import RUNNING, Site

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
    return Layout.of(disk)


@pytest.fixture(scope="session")
def vendor(deliverable, layout, work):
    folder = work / "vendor"
    folder.mkdir()
    pem = deliverable("/app/out/vendor.pem").read_bytes()
    size = layout.places["slot-a"][1]
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
def host(machines, deliverable, site, work):
    """A cabinet with the first carrier, started, with what is to stay running there."""
    carrier = site.carrier(work / "first.img", site.first, **site.others())
    one = Host(on_bench(machines, "host", deliverable(), carrier))
    one.start()
    one.settled(RUNNING)
    return one


@pytest.fixture(scope="session")
def media(vendor, site, work):
    return Media(vendor, site, work)


@pytest.fixture(scope="session")
def later(machines, media, shared, work):
    """The same cabinet, later, with the second carrier, which also holds bundles."""
    return Host(on_bench(machines, "later", shared["disk"], media.carrier(work / "second.img")))

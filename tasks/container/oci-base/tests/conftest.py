"""What the checks share: what was delivered, what it should be, and the machines of the bench."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import bench as benches
import compose
import kit as kits
import layout as layouts
import orders
import pytest
import reference
import rootfs


@pytest.fixture(scope="session")
def bench(deliverable):
    sums = (Path(__file__).parent / "bench.sha256").read_text()
    return benches.pinned(deliverable("/app/bench"), sums)


@pytest.fixture(scope="session")
def order(bench):
    return compose.parse((bench / "base.list").read_text())


@pytest.fixture(scope="session")
def kit(deliverable):
    return kits.read(deliverable("/app/out/kit.tar"))


@pytest.fixture(scope="session")
def parcels(kit):
    return kit.parcels()


@pytest.fixture(scope="session")
def delivered(deliverable):
    return deliverable("/app/out/base.tar").read_bytes()


@pytest.fixture(scope="session")
def layout(delivered):
    return layouts.read(delivered, "base.tar")


@pytest.fixture(scope="session")
def tree(layout):
    return rootfs.overlay(layout.layers)


@pytest.fixture(scope="session")
def image(machines, bench, tree, layout, work, nonce):
    return benches.Image(machines, "image", bench, tree, layout.configuration, nonce(), work)


@pytest.fixture(scope="session")
def draw():
    return random.Random(secrets.randbits(64))


@pytest.fixture(scope="session")
def second(draw, order, parcels):
    """(order, parcels) of an image that no kit has seen."""
    return orders.another(draw, order, parcels)


@pytest.fixture(scope="session")
def small(draw):
    return orders.Small(draw)


@pytest.fixture(scope="session")
def bad(small):
    return {"damaged": small.damaged(), "misfits": small.misfits(), "lists": small.listings()}


@pytest.fixture(scope="session")
def builder(machines, bench, kit, second, small, bad, work):
    """`builder(name, setting)`: a build machine with the kit and all that it will be asked for."""
    cases = [small.good(), *(case for group in bad.values() for case in group)]
    # What a list does not name does not matter.
    folders = {
        "base": {**kit.packed, "unnamed_1.parcel": b"no parcel"},
        "second": {p.file: p.pack() for p in second[1].values()},
        **{case.name: case.files for case in cases},
    }
    lists = {
        "base": (bench / "base.list").read_bytes(),
        "second": second[0].text().encode(),
        **{case.name: case.listing for case in cases},
    }

    def make(name, setting):
        made = benches.Builder(machines, name, bench, setting, kit.files, folders, lists, work)
        return made.start()

    return make


@pytest.fixture(scope="session")
def plain(builder):
    return builder("plain", benches.PLAIN)


@pytest.fixture(scope="session")
def odd(builder, draw):
    return builder("odd", benches.odd(draw))


@pytest.fixture(scope="session")
def built(plain):
    """The second list's image from the plain machine."""
    plain.clear()
    status, said, _ = plain.build("second", "second")
    assert status == 0, f"the second list was not built: {said[-500:]}"
    return plain.fetch()


@pytest.fixture(scope="session")
def known(bench):
    return {name: reference.load(d) for name, d in reference.zones(bench / "tzdata.deb").items()}


@pytest.fixture(scope="session")
def trusted(bench):
    return reference.trusted(bench / "ca-certificates.deb")

"""What the checks share.

Machines: `image`, the delivered image as the root file system of a plain kernel, with the bench's
busybox as process 1; `plain` and `odd`, build machines with the delivered kit, one as anybody has
it, one that differs in all that MACHINE.md says; a last one for what the kit made of another list.
Files: `kit.tar`, its `parcels`, `base.tar` as `layout` and `tree`; of the bench what was shipped
(`bench.sha256`), Debian's own zones and certificates; drawn lists, parcels and bad ones (`second`,
`right`, `bad`).
Order: what was delivered is read; `image` is started and asked; `plain` builds the base list, the
second one and the bad ones; `odd` builds again; what it built is compared, and started.
"""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import bench as benches
import cases
import commands
import compose
import kit as kits
import orders
import pytest
import reference
import zones

from benchflow.bench import oci_reader
from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.delivered_files import additions, pinned

SUMS = (Path(__file__).parent / "bench.sha256").read_text()


@pytest.fixture(scope="session")
def bench(deliverable):
    return pinned(deliverable("/app/bench"), SUMS)


@pytest.fixture(scope="session")
def added(bench):
    """What lies in the bench's folder and was not shipped."""
    return additions(bench, SUMS)


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
    return oci_reader.read(delivered, "base.tar")


@pytest.fixture(scope="session")
def tree(layout):
    return rootfs.overlay(layout.layers)


@pytest.fixture(scope="session")
def wanted(bench):
    """The commands that the bench's list names."""
    return (bench / "commands").read_text().split()


@pytest.fixture(scope="session")
def where(tree, order, wanted):
    """Each command's whole path, by the PATH that the list states; "" for one that is missing."""
    (path,) = (value[5:] for value in order.env if value.startswith("PATH="))
    found = {}
    for command in wanted:
        places = [f"{folder}/{command}" for folder in path.split(":")]
        nodes = [(place, rootfs.at(tree, place)) for place in places]
        good = [place for place, node in nodes if node and node.is_file and node.mode & 0o111]
        found[command] = good[0] if good else ""
    return found


@pytest.fixture(scope="session")
def trials(draw):
    """What is tried by each user."""
    return {who: commands.trials(draw, who) for who in ("root", "harbor")}


@pytest.fixture(scope="session")
def shipped(bench):
    """Debian's own file of each zone."""
    return reference.zones(bench / "tzdata.deb")


@pytest.fixture(scope="session")
def asked(shipped, draw):
    """The moments at which almanac is asked, by zone."""
    return zones.moments(shipped, draw)


@pytest.fixture(scope="session")
def image(machines, bench, tree, layout, work, trials, where, asked, draw):
    scripts = {who: commands.script(made, where, draw, who) for who, made in trials.items()}
    scripts["ask"] = zones.script(asked)
    return benches.Image(machines, "image", bench, tree, layout.configuration, work, scripts)


@pytest.fixture(scope="session")
def draw():
    return random.Random(secrets.randbits(64))


@pytest.fixture(scope="session")
def second(draw, order, parcels):
    """(order, parcels) of an image that no kit has seen."""
    return orders.another(draw, order, parcels)


@pytest.fixture(scope="session")
def small(draw):
    return cases.Small(draw)


@pytest.fixture(scope="session")
def right(small):
    return small.right()


@pytest.fixture(scope="session")
def bad(small):
    return {"damaged": small.damaged(), "misfits": small.misfits(), "lists": small.listings()}


@pytest.fixture(scope="session")
def builder(machines, bench, kit, second, right, bad, work):
    """`builder(name, setting)`: a build machine with the kit and all that it will be asked for."""
    every = [*right, *(case for group in bad.values() for case in group)]
    # What a list does not name does not matter.
    folders = {
        "base": {**kit.packed, "unnamed_1.parcel": b"no parcel"},
        "second": {p.file: p.pack() for p in second[1].values()},
        **{case.name: case.files for case in every},
    }
    lists = {
        "base": (bench / "base.list").read_bytes(),
        "second": second[0].text().encode(),
        **{case.name: case.listing for case in every},
    }

    def make(name, setting):
        made = benches.Builder(machines, name, bench, setting, kit, folders, lists, work)
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
    status, said, _ = plain.build("second")
    assert status == 0, f"the second list was not built: {said[-500:]}"
    return plain.fetch()


@pytest.fixture(scope="session")
def known(shipped):
    return {name: reference.load(data) for name, data in shipped.items()}


@pytest.fixture(scope="session")
def trusted(bench):
    return reference.trusted(bench / "ca-certificates.deb")

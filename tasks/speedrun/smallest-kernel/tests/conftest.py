"""Machines, one at a time: `main`, which most is asked of; `cut`, whose power fails; `night`, which
has little memory; and short starts, `start-*`.

Files: checks.py the milestones; unit.py a machine with the delivered kernel; initramfs.py what it
is given; image/probe.c the program in it, and draws.py what that has to say; disks.py disks;
peers.py whom it talks to.

Order: main is started once and asked; then the others. No check counts on what another has done.
"""

from __future__ import annotations

import contextlib
import random
from types import SimpleNamespace

import disks
import draws
import peers
import pytest
from unit import KERNEL, MOST_BYTES, PAR, Net, Unit, card, lease_script

from benchflow.bench.ethernet import drawn_mac
from benchflow.boot import Disk, GuestError, Nic


@pytest.fixture(scope="session")
def rng(nonce):
    return random.Random(nonce())


@pytest.fixture(scope="session")
def kernel(deliverable):
    found = deliverable(KERNEL)
    assert found.stat().st_size <= MOST_BYTES, f"{found.stat().st_size} bytes; [R1] {MOST_BYTES}"
    return found


@pytest.fixture(scope="session")
def size(deliverable, metric):
    """The bytes of the kernel, and what they are worth."""
    found = deliverable(KERNEL).stat().st_size
    metric("bytes", found)
    metric("score", round(PAR / found, 4))
    return found


@pytest.fixture(scope="session")
def net(rng):
    """The network of the first card."""
    return Net.draw(rng)


@pytest.fixture(scope="session")
def loopback():
    made = peers.Loopback()
    yield made
    made.close()


@pytest.fixture(scope="session")
def neighbour(rng):
    made = peers.Neighbour("six", rng)
    yield made
    made.close()


@pytest.fixture(scope="session")
def drawn(rng, work):
    """The disks of main: `gpt` with an ext4 of `files` in its second partition, and `mbr`."""
    tree = work / "tree"
    tree.mkdir()
    files = disks.files(tree, rng)
    system = disks.ext4(work / "system.img", 48, tree)
    made = SimpleNamespace(
        gpt=disks.gpt(work / "gpt.img", rng, system), mbr=disks.mbr(work / "mbr.img", rng),
        files=files, places=[],
    )  # fmt: skip
    for name, disk in (("vda", made.gpt), ("vdb", made.mbr)):
        for part in disk.parts:
            if disk is made.mbr or part != "2":
                made.places.append((f"/dev/{name}{part}", *disk.put(rng, part)))
    return made


@pytest.fixture(scope="session")
def main(machines, kernel, work, rng, net, drawn):
    """Two processors, two disks, two cards, and a clock that is set to a drawn day."""
    megabytes = rng.choice((512, rng.randrange(512, 1025)))
    when = (
        f"{rng.randrange(2027, 2037)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        f"T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    )
    six = drawn_mac()
    made = Unit(
        machines, kernel, work, "main", rng, files=lease_script(), cpus=2,
        memory_mb=megabytes, disks=[Disk(drawn.gpt.path), Disk(drawn.mbr.path)],
        nics=[Nic(lan="six", mac=six)], extra_args=["-rtc", f"base={when}", *card(net)],
    )  # fmt: skip
    made.megabytes, made.when, made.six = megabytes, when, six
    yield made
    made.machine.close()


@pytest.fixture
def unit(main):
    """main, with a shell."""
    return main.up()


@pytest.fixture(scope="session")
def starts(machines, kernel, work, rng, main):
    """`starts(words, …)`: another machine, not on yet."""
    made = []

    def another(words: str = "", name: str = "", **more) -> Unit:
        main.off()
        unit = Unit(machines, kernel, work, name or f"start-{len(made) + 1}", rng, words=words,
                    **{"memory_mb": 256, **more})  # fmt: skip
        made.append(unit)
        return unit

    yield another
    for unit in made:
        with contextlib.suppress(GuestError):
            unit.off()
        unit.machine.close()


@pytest.fixture
def seeds(rng):
    """Seeds for the verifier's program."""
    return lambda: draws.seed(rng)

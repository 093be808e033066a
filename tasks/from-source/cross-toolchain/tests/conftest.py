"""Machines, files, order of events.

Machines: `bench`, x86-64 with the delivered archive and nothing else, compiles everything in one go
and is switched off; `board`, riscv64 with the delivered kernel and root file system, has what came
of it on its second disk, is started once and asked until `poweroff`. Files: the archive, the kernel
and the root file system are read as they were delivered, /app/bench is compared with what was given
out, and last of all the board's root with the delivered one.
"""

from __future__ import annotations

from pathlib import Path

import archive
import bench as benches
import board as boards
import pytest

from benchflow.boot import Image

OUT = "/app/out"


@pytest.fixture(scope="session")
def tar(deliverable):
    return archive.Toolchain(deliverable(f"{OUT}/toolchain.tar"))


@pytest.fixture(scope="session")
def kernel(deliverable):
    return deliverable(f"{OUT}/Image")


@pytest.fixture(scope="session")
def rootfs(deliverable, work):
    """The root file system as it lies."""
    image = Image(deliverable(f"{OUT}/rootfs.img"), scratch=work)
    assert image.filesystem() == "ext4", "rootfs.img is no ext4"
    return image.ext4()


@pytest.fixture(scope="session")
def seed(nonce):
    return nonce()


@pytest.fixture(scope="session")
def bench(machines, deliverable, tar, seed, work):
    """The machine on which everything is compiled, in one go."""
    sums = (Path(__file__).parent / "bench.sha256").read_text()
    place = benches.pinned(deliverable("/app/bench"), sums)
    return benches.Bench(machines, place, tar.tree, seed, work)


@pytest.fixture(scope="session")
def board(machines, deliverable, bench, kernel, work):
    """The board, with all that the bench has made on its second disk."""
    return boards.Board(machines, kernel, deliverable(f"{OUT}/rootfs.img"), bench.programs(), work)


@pytest.fixture(scope="session")
def word(nonce):
    """A word that no program has seen when it was compiled."""
    return nonce()[:12]


@pytest.fixture(scope="session")
def installed(rootfs):
    """All that is compiled in the root file system."""
    return list(archive.parts((entry.path, data) for entry, data in rootfs.contents("/")))

"""What the checks share.

Machines: `builder`, a Debian in which the delivered source is built; then many short starts of the
kernel that came of it, each with a root file system that was drawn for it. One is on at a time.
Files: `source` is what was delivered, `built` what came of it; root file systems are in `work`.
Order: that of the ladder. A hidden program is asked for all of its parts when the first of them is
needed (`sittings`), and its answers are judged by the checks.
"""

from __future__ import annotations

import random

import builder
import cuts
import lives
import pytest
import rungs
from exam import Bench
from sittings import Sittings

from benchflow.bench.delivered_source import Source


@pytest.fixture(scope="session")
def folder(deliverable):
    return deliverable("/app/kernel")


@pytest.fixture(scope="session")
def source(folder):
    return Source.of(folder)


@pytest.fixture(scope="session")
def rng(nonce):
    return random.Random(nonce())


@pytest.fixture(scope="session")
def built(machines, folder, source, work, metric):
    made = builder.build(machines, folder, work)
    metric("build_seconds", made.seconds)
    metric("source_bytes", sum(len(data) for data in source.files.values()))
    return made


@pytest.fixture(scope="session")
def bench(machines, built, work, rng):
    assert built.kernel is not None, f"[R1] no kernel.elf came of `make` (status {built.status})"
    folder = work / "starts"
    folder.mkdir()
    return Bench(machines, built.kernel, folder, rng)


@pytest.fixture(scope="session")
def sit(bench):
    return Sittings(bench)


@pytest.fixture(scope="session")
def first_program(bench):
    return rungs.first_program(bench)


@pytest.fixture(scope="session")
def living(bench):
    """A machine with BusyBox's shell, of which several things are asked."""
    machine = lives.Living(bench, "[R26] BusyBox's shell")
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def records(bench):
    return cuts.written(bench)

"""What the checks share.

Machines: `builder`, a Debian in which the delivered source is built; `holm-N`, the starts of the
machine in which the file system is used. One is on at a time: one for most checks
(`station.guest`), others for what needs disks or memory of its own.
"""

from __future__ import annotations

import random

import cuts
import pytest
from bench import NAMES, Station

from benchflow.bench import source_builder
from benchflow.bench.delivered_source import Source


@pytest.fixture(scope="session")
def folder(deliverable):
    return deliverable("/app/holm")


@pytest.fixture(scope="session")
def source(folder):
    return Source.of(folder)


@pytest.fixture(scope="session")
def rng(nonce):
    return random.Random(nonce())


@pytest.fixture(scope="session")
def built(machines, folder, source, work, metric):
    made = source_builder.build(machines, folder, work, NAMES)
    metric("build_seconds", made.seconds)
    metric("source_bytes", sum(len(data) for data in source.files.values()))
    return made


@pytest.fixture(scope="session")
def station(machines, built, work, rng):
    missing = [name for name in NAMES if name not in built.files]
    assert not built.status and not missing, (
        f"[R1] of `make` (status {built.status}) came no {missing}"
    )
    made = Station(machines, built, work, rng)
    yield made
    made.drop()


@pytest.fixture(scope="session")
def after_cuts(station):
    """What was found on the disk after each of many cuts of one run."""
    return cuts.found(station)

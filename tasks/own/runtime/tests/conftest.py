"""What the checks share.

Machines: `builder`, a Debian in which the delivered source is built; `skarn-N`, the starts of the
machine in which the program is used; `judge-N`, one that has Node.js and not the program. One is on
at a time: one for most checks (`station.guest`), others for what needs a disk, memory or a count of
its own.
"""

from __future__ import annotations

import random

import programs
import pytest
from bench import NAMES, Station
from registry import Registry, Universe

from benchflow.bench import source_builder
from benchflow.bench.delivered_source import Source


@pytest.fixture(scope="session")
def folder(deliverable):
    return deliverable("/app/runtime")


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
    assert not built.status and "skarn" in built.files, (
        f"[R1] of `make` (status {built.status}) came no skarn"
    )
    made = Station(machines, built, work, rng)
    yield made
    made.close()


@pytest.fixture(scope="session")
def app(rng):
    """The program that serves."""
    return programs.draw(rng, "serves", "app")


@pytest.fixture
def registry(rng):
    """A registry of newly drawn packages."""
    made = Registry(Universe(rng))
    yield made
    made.close()

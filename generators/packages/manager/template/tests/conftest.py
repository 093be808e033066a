"""What the checks share: one station, one web server, and a model of what the station is to be.

A check that fails leaves the station in a state that says nothing of others' demands: the next one
finds it as it was when it had started for the first time, and a repository without anything.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import station as stations
from bench import Bench
from ordered import has
from serving import Repositories

from benchflow.boot import Disk, Nic

_MADE = Path("/opt/station")
_NEW = "new"


class Past:
    """Whether the station is as the last check wanted to leave it."""

    def __init__(self) -> None:
        self.saved = False
        self.spoilt = False
        self.model: Any = None


_PAST = Past()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    yield
    if call.excinfo is not None and "bench" in getattr(item, "fixturenames", ()):
        _PAST.spoilt = True


@pytest.fixture(scope="session")
def whole_bench(machines, deliverable, work):
    image = Path(work) / "station.img"
    stations.compose(_MADE / "station.tar", deliverable("/app/out/manager"), image)
    machine = machines.create(
        "station", firmware="direct", kernel=_MADE / "vmlinuz", initrd=_MADE / "initrd",
        append="console=ttyS0,115200 quiet panic=-1", disks=[Disk(image)],
        nics=[Nic(restrict=False)],
    )  # fmt: skip
    repositories = Repositories("10.0.2.2", 2 if has("priorities") else 1)
    yield Bench(stations.Station(machine), repositories, random.Random(secrets.randbits(64)))
    repositories.close()


@pytest.fixture
def bench(whole_bench):
    """The bench; the station is on, and as the last check wanted to leave it."""
    machine = whole_bench.station.machine
    if not _PAST.saved:
        assert not _PAST.spoilt, "the station did not come up"
        whole_bench.station.start()
        whole_bench.begin()
        machine.snapshot(_NEW)
        _PAST.model, _PAST.saved = whole_bench.model.copy(), True
    elif _PAST.spoilt or not machine.alive:
        machine.restore(_NEW)
        whole_bench.begin_again(_PAST.model.copy())
    _PAST.spoilt = False
    yield whole_bench
    whole_bench.repositories.calm()

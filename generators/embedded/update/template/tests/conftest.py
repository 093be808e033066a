"""What the checks share: one unit, its flash, and a model of what the unit is to be.

Each check begins with a unit as it comes from production: another flash, and nothing in memory.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import station as stations
from bench import Bench, new_first, new_vendor
from flash import Flash

from benchflow.boot import Disk, Nic

_MADE = Path("/opt/station")
_FAILED: set[str] = set()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    yield
    if call.excinfo is not None:
        _FAILED.add(item.nodeid)


@pytest.fixture(scope="session")
def whole_bench(machines, deliverable, work):
    draw, vendor = random.Random(secrets.randbits(64)), new_vendor()
    first, about = new_first(draw)
    image = Path(work) / "rom.img"
    etc = stations.etc_of(about, vendor)
    stations.compose(
        _MADE / "station.tar", _MADE / "nbd.ko", deliverable("/app/out/updater"), etc, image
    )
    machine = machines.create(
        "unit", firmware="direct", kernel=_MADE / "vmlinuz", initrd=_MADE / "initrd",
        append="console=ttyS0,115200 quiet panic=-1", disks=[Disk(image)],
        nics=[Nic(restrict=False)],
    )  # fmt: skip
    one = Bench(stations.Station(machine, Flash()), vendor, about, first)
    one.draw = draw
    yield one
    one.station.flash.close()
    one.station.web.close()


@pytest.fixture
def bench(whole_bench, request):
    """The bench, with a new unit that was started once; what it says is looked at in the end."""
    station = whole_bench.station
    station.flash.let_go()
    station.flash.log = station.flash.faulty = None
    if not station.machine.alive or not station.machine.shell.usable():
        if station.machine.alive:
            station.machine.power_cut()
        station.switch_on()
    whole_bench.fresh()
    yield whole_bench
    station.flash.let_go()
    if request.node.nodeid not in _FAILED and not whole_bench.open:
        whole_bench.same("all of it")

"""What the checks share: one router between the carrier and the site, both of which are played.

Each check begins with the file and the words as they were; `bench.fresh` sees to it.
"""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import pytest
import station as stations
from bench import Bench
from sources import keys

_MADE = Path("/opt/station")


@pytest.fixture(scope="session")
def whole_bench(machines, deliverable, work):
    one = Bench(random.Random(secrets.randbits(64)), stations.drawn_macs(), keys())
    rom = Path(work) / "rom.img"
    stations.compose(_MADE / "station.tar", deliverable("/app/out/site"), rom)
    data = stations.flash(Path(work), one.base.text(one.draw), one.files)
    one.station = stations.Station.create(
        machines.create, _MADE, rom, data, one.lans, one.macs, one.clock()
    )
    yield one
    for wire in one.wires.values():
        wire.close()


@pytest.fixture
def bench(whole_bench):
    """The bench, with a router that runs, and the file with which it came."""
    whole_bench.fresh()
    return whole_bench

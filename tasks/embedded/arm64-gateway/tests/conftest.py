"""What the checks share: the two networks, the gateway between them, what a run draws."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import changes
import pytest
from bench import Bench
from boards import MACS, board
from site_data import Carrier, Site, drawn_mac


@pytest.fixture(scope="session")
def bench(machines, deliverable):
    """The first board, switched off, with this run's configuration in hand and not in the board."""
    site = Site.draw(drawn_mac(), drawn_mac())
    made = Bench(site, Carrier.draw(), dict(MACS))
    made.machine = board(machines, "gateway", deliverable(), made.macs, ("lan", "wan", "third"))
    yield made
    made.close()


@dataclass(frozen=True)
class Cut:
    """`cuts` is over when the power of the gateway on `bench` has gone several times."""

    bench: Bench
    cuts: Future[None]


@pytest.fixture(scope="session")
def cut(bench, machines):
    """A copy of the gateway as it is, on networks of its own, whose power goes meanwhile."""
    bench.say("sync")
    other = Bench(bench.site, bench.drawn, bench.macs, apart="-cut")
    order, disk = ("lan", "wan", "third"), bench.machine.flatten()
    other.machine = board(machines, "cut", disk, bench.macs, order, apart=other.apart)
    with ThreadPoolExecutor(1) as pool:
        try:
            yield Cut(other, pool.submit(changes.cuts, other))
        finally:
            other.machine.close()  # ends what is under way, too
            other.close()


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}

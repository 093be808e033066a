"""Machines: `gateway`, with both networks and a third card; `cut`, started from a copy of its disk
on networks of its own, whose power goes while the first has its services killed and starts anew;
`other`, the first one's disk in a board with its cards the other way round and another time on its
clock; `lost`, the same with noise in `data`.

Files: checks.py the milestones; boards.py and bench.py a gateway and what is on its wires;
site_data.py and site_texts.py what a run draws; hosts.py, streams.py, dhcp.py and names.py the
networks, made of frames; leases.py DHCP as clients ask; attacks.py what must have no effect;
services.py what must have one; changes.py configurations, passwords and power.

Order: the local side while the carrier is silent, the carrier, both sides, changes of the
configuration, killed services, then starts. Each check leaves the bench so that the next can ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import changes
import pytest
from bench import Bench
from boards import MACS, board
from site_data import Carrier, Site, drawn_mac

from benchflow.boot import CheckMisuse, GuestError


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
def cut(bench, machines) -> Iterator[Cut]:
    """A copy of the gateway as it is, on networks of its own, whose power goes meanwhile."""
    with contextlib.suppress(GuestError, CheckMisuse):  # where nobody answers, as the disk is
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

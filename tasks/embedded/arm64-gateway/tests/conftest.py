"""What the checks share: the two networks, the gateway between them, what a run draws."""

from __future__ import annotations

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


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}

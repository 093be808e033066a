"""What the checks share.

Machines: `server`, the repaired disk in one machine with 512 MiB, started and asked, restarted, cut
off and started again; at the end one whose disk has no data volume. One is on at a time.
Files: `disk`, the delivered image, with `system` and `data` read from it without a mount;
owner_data.py and known.py say what belongs on them.
Order: the disk is read; `server` is started (`first` is how that turned out) and asked by its
people; its ledger takes records; it is restarted; the power is cut; it makes an initramfs, is
switched off by its button, looked at, and started with that; then the one without data.
"""

from __future__ import annotations

import pytest
import server as facts
from atlas import DISK, Server

from benchflow.boot.inspect.ext4 import Ext4


@pytest.fixture(scope="session")
def disk(deliverable):
    return deliverable(DISK)


@pytest.fixture(scope="session")
def system(disk):
    return Ext4(disk, facts.SYSTEM_START)


@pytest.fixture(scope="session")
def data(disk):
    return Ext4(disk, facts.DATA_START)


@pytest.fixture(scope="session")
def server(machines, disk, work, nonce):
    return Server(machines, disk, work, nonce)


@pytest.fixture(scope="session")
def first(server):
    """How the first start turned out."""
    return server.state()

"""A second machine from the same disk, with another card, whose port can be reached."""

import json
from pathlib import Path

import pytest

from benchflow.boot import Disk, Nic

TOLD = json.loads(Path(__file__).with_name("repo.json").read_text())


@pytest.fixture(scope="session")
def served(machines, deliverable):
    card = Nic(model="e1000", forwards=[TOLD["port"]] if TOLD["port"] else [])
    return machines.create("served", firmware="bios", disks=[Disk(deliverable())], nics=[card])

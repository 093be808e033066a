"""What the checks share: a unit with the delivered image, and disks of the bench's own.

`bench` is the same in all checks; most ask the unit that is on, and those that need one as new, or
other hardware, say so.
"""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import pytest
from bench import Bench


@pytest.fixture(scope="session")
def bench(machines, deliverable, work):
    draw = random.Random(secrets.randbits(64))
    return Bench(machines.create, deliverable("/app/out/disk.img"), Path(work), draw)

"""Machines: `two-cards`, in slots drawn at random, asked nearly everything, and started again by a
warm restart; `no-card`; `one-card`, behind a bridge, with two processors.

Files: checks.py the milestones; unit.py a station and the ways to ask it; bus.py what the analysers
saw of the cards' registers, outside the guest; kernel_log.py what is held against the driver;
programs.py what is compiled on the station; people.py, single.py, crowds.py, library.py, leaving.py
and packages.py a subject each.

Order: the system, the driver, people, one job, many jobs, what is killed and goes away, packages,
the other two stations, the restart, and at last the logs and records of all three.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import pytest
from unit import Station, station

from benchflow.boot import Disk


@dataclass
class Story:
    """What earlier questions left for later ones."""

    shelves: dict[str, tuple[int, str]] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def story() -> Story:
    return Story()


@pytest.fixture(scope="session")
def two(machines, deliverable, work) -> Station:
    """Two cards, in slots drawn at random."""
    first = secrets.randbelow(10) + 0x10
    slots = [f"{first:02x}", f"{first + 1 + secrets.randbelow(4):02x}"]
    return station(machines, "two-cards", Disk(deliverable()), work / "two.bus", slots)


@pytest.fixture(scope="session")
def none(machines, deliverable, work) -> Station:
    """No card."""
    return station(machines, "no-card", Disk(deliverable()), work / "none.bus", [])


@pytest.fixture(scope="session")
def one(machines, deliverable, work) -> Station:
    """One card, behind a bridge."""
    slots = [f"bridge:{secrets.randbelow(20) + 4:02x}"]
    return station(machines, "one-card", Disk(deliverable()), work / "one.bus", slots, cpus=2)

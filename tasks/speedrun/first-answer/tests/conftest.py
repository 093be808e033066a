"""What the checks share: the station, a generator of this run's inputs, and the measured rounds."""

from __future__ import annotations

import random

import pytest
import rounds
from station import Measured, Station, first_answer


@pytest.fixture(scope="session")
def station(machines, deliverable, work):
    return Station(machines, deliverable("/app/out/firmware.elf"), work)


@pytest.fixture
def rng(nonce):
    return random.Random(nonce())


@pytest.fixture(scope="session")
def first(station, nonce, metric):
    """The first answer, measured; what is written down whether it is within a budget or not."""
    measured = first_answer(station, nonce())
    metric("instructions", measured.count)
    metric("par", measured.par)
    metric("score", round(measured.par / measured.count, 4))
    return measured


@pytest.fixture(scope="session")
def additions(station, nonce, metric):
    """A round of some 400 additions to a table of some 4,000 records, measured."""
    rng = random.Random(nonce())
    records = rounds.draw(rng, rng.randint(3900, 4100))
    keys = [record.key for record in records]
    asked = [(rng.choice(keys), rounds.nonce(rng)) for _ in range(rng.randint(390, 410))]
    made = rounds.table(records, rng)
    lines = [rounds.get(*query, verb="ADD") for query in asked]
    due = rounds.total(records, asked)
    count = station.counts(made, rounds.queue(*lines, "SUM\n"), due, "[R18] the total")
    measured = Measured(count, rounds.par_of_round(records, made, len(asked)))
    metric("round_instructions", count)
    metric("round_score", round(measured.par / count, 4))
    return measured

"""What the checks share: the station, a generator of this run's inputs, and the measured rounds."""

from __future__ import annotations

import random

import pytest
import rounds
from station import Station, measured

TABLES = 3  # of which the first answer is measured; the worst is what counts


@pytest.fixture(scope="session")
def station(machines, deliverable, work, nonce):
    noise = random.Random(nonce()).randbytes(65_521)
    return Station(machines, deliverable("/app/out/firmware.elf"), work, noise)


@pytest.fixture
def rng(nonce):
    return random.Random(nonce())


@pytest.fixture(scope="session")
def first(station, nonce, metric):
    """The first answer, measured; what is written down whether it is within a budget or not."""
    runs = []
    for _ in range(TABLES):
        drawn, par = rounds.first_answer(random.Random(nonce()))
        runs.append(measured(station, drawn, par, "[R5] the first answer"))
    worst = min(runs, key=lambda run: run.score)
    metric("instructions", worst.count)
    metric("par", worst.par)
    metric("score", round(worst.score, 4))
    return worst


@pytest.fixture(scope="session")
def additions(station, nonce, metric):
    """A round of some 400 additions to a table of some 4,000 records, measured."""
    drawn, par = rounds.additions(random.Random(nonce()))
    # One that knows no additions says much, and counted it would keep QEMU busy for minutes.
    station.says(drawn.table, drawn.queue, drawn.due, "[R18] the total", counted=False)
    run = measured(station, drawn, par, "[R18] the total")
    metric("round_instructions", run.count)
    metric("round_score", round(run.score, 4))
    return run

"""Machines, never two at once: `main`, which is asked nearly everything; `spare`, which is started
again and again with other catalogues and other moods of its DHCP server.

Files: checks.py the milestones; box.py a machine on its wire and what it is asked; wire.py the
network, which loses, doubles and delays; lease.py the DHCP server; fetch.py HTTP over a TCP of our
own; hostile.py what a network may bring; catalogues.py what a run draws.

Order: main starts while nobody offers an address, gets one, and is asked, flooded and switched off;
then the spare's damaged catalogues and leases; sizes last. Each check leaves main serving.
"""

from __future__ import annotations

import random

import catalogues
import pytest
from box import IMAGE, PAR, Box


@pytest.fixture
def rng(nonce):
    return random.Random(nonce())


@pytest.fixture(scope="session")
def drawn(nonce):
    """This run's catalogue."""
    rng = random.Random(nonce())
    return catalogues.write(catalogues.draw(rng), rng)


@pytest.fixture(scope="session")
def main(machines, deliverable, work, nonce, drawn):
    made = Box(machines, deliverable, work, "main", random.Random(nonce()), drawn)
    made.server.silent = True
    yield made
    made.close()


@pytest.fixture(scope="session")
def spare_box(machines, deliverable, work, nonce, drawn):
    made = Box(machines, deliverable, work, "spare", random.Random(nonce()), drawn)
    yield made
    made.close()


@pytest.fixture
def spare(spare_box, main, drawn):
    """The spare, switched off, its server in a good mood, main without power."""
    main.stop()
    spare_box.stop()
    server = spare_box.server
    server.silent, server.strangers, server.deaf, server.refuses = False, False, 0, 0
    server.quits, server.refused = False, 0
    server.seconds, server.leased_at, server.offers = 86_400, 0.0, spare_box.address
    server.heard.clear()
    yield spare_box
    spare_box.stop()
    spare_box.insert(drawn)


@pytest.fixture
def steady(spare_box, main):
    """The spare, serving this run's catalogue; its line is whole again afterwards."""
    main.stop()
    spare_box.start()
    yield spare_box
    spare_box.wire.loss = spare_box.wire.twice = spare_box.wire.late = 0.0


@pytest.fixture(scope="session")
def size(deliverable, metric):
    """The bytes of the image, and what they are worth."""
    found = deliverable(IMAGE).stat().st_size
    metric("bytes", found)
    metric("score", round(PAR / found, 4))
    return found

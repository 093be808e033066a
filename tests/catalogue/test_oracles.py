"""Every task's oracle, from scratch: what it makes is booted, and earns every milestone.

One of them a run at most, beside the other tests (tests/workers.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from benchflow.tasks import names


@pytest.mark.slow(every=22)
@pytest.mark.parametrize("name", names())
def test_it_earns_every_milestone(name: str, oracles: dict[str, Any]) -> None:
    trial = oracles[name]
    assert (trial["verdict"], trial["reward"]) == ("resolved", 1), trial["milestones"]

"""Every task's oracle, from scratch: what it makes is booted, and earns every milestone.

One or two of them a run, beside the other tests (tests/beside.py). By their names the
two that build for the longest (from-source/cross-toolchain and tiny-linux) are alone in their
turns.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchflow.tasks import names


@pytest.mark.slow(every=10)
@pytest.mark.parametrize("name", names())
def test_it_earns_every_milestone(name: str, oracles: dict[str, Any]) -> None:
    trial = oracles[name]
    assert (trial["verdict"], trial["reward"]) == ("resolved", 1), trial["milestones"]

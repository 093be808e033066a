"""Every task's oracle, from scratch: what it makes is booted, and earns every milestone.

One of them a run at most, beside the other tests (tests/workers.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchflow.tasks import names


def _wrong(trial: dict[str, Any]) -> str:
    """What its checks said that did not pass."""
    found = Path(trial["path"], "verifier", "milestones.json")
    if not found.is_file():
        return f"{trial['verdict']}: {trial.get('cause')}"
    return "\n".join(
        f"{milestone['id']}: {check['name']} {check['status']}: {check['message']}"
        for milestone in json.loads(found.read_text())["milestones"]
        for check in milestone["checks"]
        if check["status"] != "passed"
    )


@pytest.mark.slow(every=24)
@pytest.mark.parametrize("name", names())
def test_it_earns_every_milestone(name: str, oracles: dict[str, Any]) -> None:
    trial = oracles[name]
    assert (trial["verdict"], trial["reward"]) == ("resolved", 1), _wrong(trial)

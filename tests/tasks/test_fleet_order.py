"""spin/fleet's verifier knows the order's programs by their sums alone."""

from __future__ import annotations

import hashlib
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLEET = ROOT / "tasks/spin/fleet"


def test_the_sums_are_those_of_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FLEET / "tests"))
    programs = runpy.run_path(str(FLEET / "tests/releases.py"))["PROGRAMS"]
    order = {path.name: path for path in (FLEET / "environment/order").rglob("*")}
    found = {
        path: hashlib.sha256(order[Path(path).name].read_bytes()).hexdigest() for path in programs
    }
    assert programs == found

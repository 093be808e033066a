"""Draws: what must not be drawn twice is not."""

from __future__ import annotations

import random

import pytest

from benchflow.bench.other_draws import never_twice
from benchflow.boot import VerifierBroken


def test_no_two_are_equal_and_there_is_an_end() -> None:
    rng = random.Random(1)
    another = never_twice(lambda stem: f"{stem}-{rng.randrange(8)}")
    assert len({another("a") for _ in range(8)}) == 8
    assert another("b").startswith("b-")
    with pytest.raises(VerifierBroken, match="9 draws"):
        another("a")

"""Made-up raters with opinions of a known kind. Never real ones: every test makes its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchflow.people.pack import Pack
from benchflow.people.reading import read
from benchflow.people.recorded import Ratings, asked, ratings_of

from .made_packs import about
from .rater import Rater

LIKELY = (2.0, 6.0, 20.0)


def envelopes(
    of: Pack, n: int, *, seed: int = 1, novices: int = 0, doubt: str = "", noise: float = 0.4
) -> list[bytes]:
    """Answers of `n` experts, who find later tasks harder and longer, and of novices, who say the
    opposite. Two thirds of the experts doubt the demand `doubt` of the first task."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(n + novices):
        is_expert = number < n
        rater, lean = Rater(), generator.normal(0, noise)
        tasks, felt = [], []
        for at, one in enumerate(of.tasks):
            log = np.log(LIKELY[at]) + lean + generator.normal(0, noise)
            likely = float(np.exp(log)) if is_expert else 500.0 + number
            more: dict[str, Any] = {"work": "daily" if is_expert else "never"}
            more["hours"] = {"low": likely / 2, "likely": likely, "high": likely * 3}
            more["sign"] = ("yes", "small-doubts", "no")[at] if is_expert else "no"
            if doubt and at == 0 and is_expert and number % 3:
                more["doubts"] = [{"demand": doubt, "what": "unfair", "why": f"<b>no {number}</b>"}]
            tasks.append(about(one, **more))
            felt.append((at if is_expert else -at) + generator.normal(0, 0.8))
        names = [one.name for one in of.tasks]
        pairs = [
            {"a": names[a], "b": names[b], "harder": names[a if felt[a] > felt[b] else b]}
            for a in range(len(names))
            for b in range(a + 1, len(names))
        ]
        body = rater.body(of.digest, kind="rating", rehearsal=of.rehearsal, tasks=tasks)
        body |= {"pairs": pairs, "name": f"Rater {number}"}
        found.append(rater.envelope(body))
    return found


def ratings(tmp_path: Any, of: Pack, *data: bytes) -> Ratings:
    """What a reading of these envelopes keeps."""
    file = tmp_path / "made.jsonl"
    file.write_bytes(b"\n".join(data))
    packs = {of.digest: of}
    return ratings_of(read([file], asked(packs)), packs)

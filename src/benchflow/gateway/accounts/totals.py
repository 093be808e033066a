"""Totals of trials: a fold over the ledger's records, the same when live and when read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchflow.gateway.accounts.ledger import Torn, read
from benchflow.gateway.config import Budget
from benchflow.model_apis.usage import Usage


@dataclass(slots=True)
class Tally:
    """What one trial has used and met.

    `turns`: answers of the model. `failed`: calls that the provider's side did not answer.
    `failing`: how many of these came last, in a row. `lost`: calls begun that have no end (the
    gateway died): their tokens are unknown. `unpriced`: answers without a known price.
    `exhausted`: the name of the budget that ended the trial, or "". `first`: when its first call
    began (seconds since the epoch), 0 for none; the time between a trial's closing and its opening
    again does not count. `last`: the last thing that the trial itself did.
    """

    trial: str
    model: str = ""
    first: float = 0.0
    last: float = 0.0
    closed: bool = False
    turns: int = 0
    failed: int = 0
    failing: int = 0
    last_failure: str = ""
    usage: Usage = field(default_factory=Usage)
    usd: Decimal = Decimal(0)
    unpriced: int = 0
    uncounted: int = 0
    exhausted: str = ""
    begun: set[int] = field(default_factory=set)
    budget: Budget = field(default_factory=Budget)

    @property
    def lost(self) -> int:
        """Calls that were begun and never ended."""
        return len(self.begun)

    def over(self, now: float) -> tuple[str, float, float] | None:
        """The first budget that is used up: its name, what was used and what was allowed."""
        used = {
            "usd": float(self.usd),
            "tokens": self.usage.total,
            "turns": self.turns,
            "minutes": (now - self.first) / 60 if self.first else 0.0,
        }
        for name, amount in used.items():
            allowed = getattr(self.budget, name)
            if allowed is not None and amount >= allowed:
                return name, amount, float(allowed)
        return None

    def summary(self) -> dict[str, Any]:
        """The tally as plain values, for HTTP and for a trial's folder."""
        return {
            "trial": self.trial,
            "model": self.model,
            "turns": self.turns,
            "failed_calls": self.failed,
            "failing": self.failing,
            "last_failure": self.last_failure,
            "usage": self.usage.as_dict(),
            "tokens": self.usage.total,
            "usd": float(self.usd),
            "unpriced_answers": self.unpriced,
            "uncounted_answers": self.uncounted,
            "lost_calls": self.lost,
            "budget_exhausted": self.exhausted,
        }


class Meter:
    """The tallies of a job. Feed it every record with `apply`, in order."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.torn: list[Torn] = []
        self.calls = 0

    def apply(self, record: dict[str, Any]) -> None:
        """Add one record of the ledger."""
        trial = record.get("trial")
        if not isinstance(trial, str):
            return
        tally = self.tallies.setdefault(trial, Tally(trial))
        kind = record["event"]
        now = datetime.fromisoformat(record["t"]).timestamp()
        if kind == "trial":
            if tally.closed and tally.first:
                tally.first += now - tally.last
            tally.model = record["model"]
            tally.budget = Budget.model_validate(record["budget"])
            tally.closed = False
        elif kind == "closed":
            tally.closed = True
        elif kind == "exhausted":
            tally.exhausted = record["budget"]
        elif kind == "begin":
            self.calls = max(self.calls, record["n"])
            tally.begun.add(record["n"])
            tally.first = tally.first or now
        elif kind == "call":
            tally.begun.discard(record["n"])
            self._call(tally, record)
        if kind != "closed":
            tally.last = now

    def _call(self, tally: Tally, record: dict[str, Any]) -> None:
        counts = record.get("usage")
        if counts is not None:
            tally.usage += Usage.from_dict(counts)
        if record.get("usd") is not None:
            tally.usd += Decimal(str(record["usd"]))
        if record["outcome"] == "provider":
            tally.failed += 1
            tally.failing += 1
            tally.last_failure = record.get("error", "")
        elif record["outcome"] == "answered":
            tally.turns += 1
            tally.failing = 0
            tally.uncounted += counts is None
            tally.unpriced += record.get("usd") is None


def replay(path: Path) -> Meter:
    """The totals that a ledger holds; its torn lines are in `torn`."""
    return fold(read(path))


def fold(records: Iterable[dict[str, Any] | Torn]) -> Meter:
    """The totals of some records."""
    meter = Meter()
    for record in records:
        if isinstance(record, Torn):
            meter.torn.append(record)
        else:
            meter.apply(record)
    return meter

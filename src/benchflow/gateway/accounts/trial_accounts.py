"""The trials of a gateway: their throw-away tokens, their totals, and how long each is silent."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchflow.errors import UsageError
from benchflow.gateway.accounts import ledger
from benchflow.gateway.accounts.totals import Meter, Tally, replay
from benchflow.gateway.calls.forwarder import Report
from benchflow.gateway.config import Budget, Config, Route
from benchflow.gateway.models import prices
from benchflow.gateway.models.prices import GRAIN, Price

#: Calls of one trial that are with the provider at once: no more go beyond its budget.
AT_ONCE = 16


@dataclass(slots=True)
class Live:
    """What is known of a trial while it runs: calls under way, when something last moved, bytes of
    requests that are held, and the places at the provider."""

    calls: int = 0
    moved: float = field(default_factory=time.monotonic)
    held: int = 0
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))


class Trials:
    """The books of one gateway. Everything that counts is in the ledger first."""

    def __init__(self, config: Config, path: Path, secret: str) -> None:
        self.routes = {route.model: route for route in config.routes}
        self._prices = {model: _price(route) for model, route in self.routes.items()}
        self._budget = config.budget
        self._secret = secret.encode()
        self.meter: Meter = replay(path)
        self._ledger = ledger.Ledger(path)
        self._tokens = {self.token(trial): trial for trial in self.meter.tallies}
        self.live: dict[str, Live] = {}

    def token(self, trial: str) -> str:
        """The token of a trial: good for this gateway alone, and only while the trial is open."""
        made = hmac.new(self._secret, trial.encode(), hashlib.sha256)
        return f"bf-{made.hexdigest()[:40]}"

    def open(self, trial: str, model: str, budget: Budget | None) -> str:
        """Open a trial that uses `model`, or open it again; returns its token."""
        if model not in self.routes:
            known = ", ".join(self.routes)
            raise UsageError(f"the gateway has no model {model!r}", hint=f"it has: {known}")
        tally = self.meter.tallies.get(trial)
        if tally is None or tally.closed:
            chosen = (budget or self._budget).model_dump(exclude_none=True)
            self._write("trial", trial=trial, model=model, budget=chosen)
        token = self.token(trial)
        self._tokens[token] = trial
        self.live.setdefault(trial, Live())
        return token

    def close(self, trial: str) -> None:
        """End a trial: its token is refused from now on."""
        if trial in self.meter.tallies and not self.meter.tallies[trial].closed:
            self._write("closed", trial=trial)

    def of_token(self, token: str) -> Tally | None:
        """The open trial that a token belongs to."""
        trial = self._tokens.get(token)
        tally = self.meter.tallies.get(trial) if trial is not None else None
        return None if tally is None or tally.closed else tally

    def door(self, trial: str, **facts: Any) -> None:
        """Write down that a trial's sandbox was given a door."""
        self._write("door", trial=trial, **facts)

    def exhausted(self, tally: Tally) -> str:
        """Why the trial may make no further call, as a sentence; "" when it may."""
        over = tally.over(time.time())
        if over is None:
            return ""
        name, used, allowed = over
        if not tally.exhausted:
            self._write("exhausted", trial=tally.trial, budget=name, used=used, allowed=allowed)
        return f"budget exhausted: this trial may use {allowed:g} {name} and has used {used:g}"

    def begin(self, trial: str, protocol: str) -> int:
        """Write down that a call begins; returns its number."""
        number = self.meter.calls + 1
        self._write("begin", trial=trial, n=number, protocol=protocol)
        live = self.live.setdefault(trial, Live())
        live.calls += 1
        live.moved = time.monotonic()
        return number

    def end(self, trial: str, number: int, report: Report, **facts: Any) -> None:
        """Write down what became of a call."""
        live = self.live.setdefault(trial, Live())
        live.calls -= 1
        live.moved = time.monotonic()
        counts = report.usage.as_dict() if report.usage is not None else None
        usd = self._dollars(self.meter.tallies[trial].model, report)
        self._write(
            "call",
            trial=trial,
            n=number,
            outcome=report.outcome,
            status=report.status,
            tries=report.tries,
            usage=counts,
            usd=None if usd is None else float(usd),
            **facts,
        )

    def slot(self, trial: str) -> asyncio.Semaphore:
        """The places of a trial's calls at the provider."""
        return self.live.setdefault(trial, Live()).slots

    @contextmanager
    def holding(self, trial: str) -> Iterator[Callable[[int], int]]:
        """Count bytes of a trial's requests until the block ends; tells how many it holds."""
        live, mine = self.live.setdefault(trial, Live()), 0

        def hold(size: int) -> int:
            nonlocal mine
            mine += size
            live.held += size
            return live.held

        try:
            yield hold
        finally:
            live.held -= mine

    def moved(self, trial: str) -> None:
        """Note that bytes came for a trial."""
        self.live.setdefault(trial, Live()).moved = time.monotonic()

    def summary(self, trial: str) -> dict[str, Any]:
        """A trial's totals, calls under way, and when something last moved (the host's monotonic
        clock)."""
        live = self.live.get(trial, Live())
        return self.meter.tallies[trial].summary() | {"under_way": live.calls, "moved": live.moved}

    def _dollars(self, model: str, report: Report) -> Decimal | None:
        if report.dollars is not None:
            return Decimal(str(report.dollars)).quantize(GRAIN)
        price = self._prices[model]
        if report.usage is None or price is None:
            return None
        return price.of(report.usage)

    def _write(self, event: str, **facts: Any) -> None:
        self.meter.apply(self._ledger.append(event, **facts))


def _price(route: Route) -> Price | None:
    return prices.price_of(route.price) if route.price is not None else None

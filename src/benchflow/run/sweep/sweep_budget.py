"""What a sweep has spent, and the gate that lets no trial start once its budget is gone.

Everything that a job spent stands in its ledger, trials that were cut off and run again included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base.numbers import dollars
from benchflow.errors import BenchflowError
from benchflow.gateway.accounts.totals import replay
from benchflow.gateway.client import GatewayClient
from benchflow.gateway.config import Budget
from benchflow.run.models.gateway_access import LEDGER

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.trial.hooks import TrialHookEvent


class BudgetSpent(BenchflowError):
    """The budget of the whole sweep is used up; what has started is finished."""


@dataclass(frozen=True)
class Spent:
    """Dollars and tokens. `unknown`: answers without a price or a count, and calls whose end the
    gateway did not see: they are not in the sums."""

    usd: float = 0.0
    tokens: int = 0
    unknown: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.usd + other.usd, self.tokens + other.tokens, self.unknown + other.unknown)


@dataclass(frozen=True)
class Purse:
    """What a whole sweep may spend; None is no limit."""

    usd: float | None = None
    tokens: int | None = None

    def over(self, spent: Spent, bound: Spent | None = None) -> str:
        """Why nothing more may start, as a sentence; "" when something may. `bound`: what running
        trials may spend at most, beyond what they have spent."""
        bound = bound or Spent()
        if self.usd is not None and spent.usd + bound.usd >= self.usd:
            return _sentence(dollars(spent.usd), dollars(bound.usd), dollars(self.usd), bound.usd)
        if self.tokens is not None and spent.tokens + bound.tokens >= self.tokens:
            used, may = f"{spent.tokens:,} tokens", f"{bound.tokens:,}"
            return _sentence(used, may, f"{self.tokens:,}", bound.tokens)
        return ""


def _sentence(spent: str, bound: str, allowed: str, has_bound: float) -> str:
    more = f", and running trials may spend {bound} more" if has_bound else ""
    return f"the sweep has spent {spent} of {allowed}{more}"


def spent_in(jobs: Iterable[Path]) -> Spent:
    """What finished and cut-off trials of some jobs have spent, by their ledgers."""
    total = Spent()
    for job in jobs:
        summaries = [tally.summary() for tally in replay(job / LEDGER).tallies.values()]
        total += _sum(summaries)
    return total


def _sum(summaries: Iterable[dict[str, Any]]) -> Spent:
    total = Spent()
    for each in summaries:
        unknown = max(each["unpriced_answers"], each["uncounted_answers"]) + each["lost_calls"]
        total += Spent(each["usd"], each["tokens"], unknown)
    return total


class Gate:
    """Lets the trials of one job start, one after the other, while the purse is not empty.

    `before`: what the sweep's other jobs have spent. `each`: the budget of a single trial. A trial
    that may not start waits for those that run: they may spend less than they could. Where none
    is left, BudgetSpent ends the job.
    """

    def __init__(self, purse: Purse, before: Spent, each: Budget) -> None:
        self._purse = purse
        self._before = before
        self._each = each
        self._client: GatewayClient | None = None
        self._running: set[str] = set()
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()

    def attach(self, job: Job, client: GatewayClient | None) -> None:
        """Subscribe to the starts and ends of trials of `job`, whose gateway is `client`."""
        self._client = client
        job.on_trial_started(self._started)
        job.on_trial_ended(self._ended)

    async def _started(self, event: TrialHookEvent) -> None:
        async with self._turn:
            while why := await self._over():
                if not self._running:
                    raise BudgetSpent(why)
                await self._changed.wait()
            self._running.add(event.trial_name)

    async def _ended(self, event: TrialHookEvent) -> None:
        self._running.discard(event.trial_name)
        self._changed.set()

    def lost(self, trial: str) -> None:
        """A trial has ended without a result, and begins again under another name."""
        self._running.discard(trial)
        self._changed.set()

    async def _over(self) -> str:
        self._changed.clear()
        trials: list[dict[str, Any]] = []
        if self._client is not None:
            trials = (await asyncio.to_thread(self._client.totals))["trials"]
        return self._purse.over(self._before + _sum(trials), self._bound(trials))

    def _bound(self, trials: list[dict[str, Any]]) -> Spent:
        """What running trials may spend beyond what they have; where that is not limited, 0."""
        used = {each["trial"]: each for each in trials}
        zero = {"usd": 0.0, "tokens": 0}
        bound = Spent()
        for trial in self._running:
            spent = used.get(trial, zero)
            usd = max((self._each.usd or 0.0) - spent["usd"], 0.0)
            tokens = max((self._each.tokens or 0) - spent["tokens"], 0)
            bound += Spent(usd, tokens)
        return bound

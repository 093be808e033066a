"""The models of a job: which there are, their gateway, and what becomes of a trial's totals.

A trial's totals are `<trial>/model.json`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base.atomic import write_json
from benchflow.errors import InfrastructureError, UsageError
from benchflow.gateway import client as process
from benchflow.gateway.accounts.totals import replay
from benchflow.gateway.client import GatewayClient
from benchflow.gateway.config import Budget, Config, Limits, Route
from benchflow.gateway.models import providers
from benchflow.gateway.redact import is_key
from benchflow.results.jobs import metered
from benchflow.results.jobs.faults import add_fault
from benchflow.run.models import rate_limits as limiting
from benchflow.run.models.gateway_access import HOST, LEDGER, access, folder, is_metered

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.models.trial.config import AgentConfig
    from harbor.trial.hooks import TrialHookEvent

#: How long a trial's end waits for an answer that its agent left behind.
_ANSWER_SECONDS, _LOOK_SECONDS = 120.0, 0.2


def configure(
    agents: Iterable[AgentConfig],
    budget: Budget,
    *,
    limits: Mapping[str, Limits],
    bodies: bool = False,
) -> Config | None:
    """The gateway for metered agents; None when there is none. `limits`: see `run.limits`.

    Raises UsageError for a model without provider or key, for a limit in dollars on a model whose
    price is not known, and for limits of a model that nobody uses.
    """
    names = dict.fromkeys(a.model_name for a in agents if a.model_name and is_metered(a))
    if not names:
        return None
    limiting.check(limits, names)
    routes = tuple(
        providers.route(name, os.environ, limits=limiting.of(name, limits)) for name in names
    )
    for route in routes:
        _check(route, budget)
    _check_policies(routes)
    return Config(routes=routes, budget=budget, bodies=bodies)


def _check(route: Route, budget: Budget) -> None:
    from benchflow.gateway.models.prices import price_of

    if budget.usd is not None and (route.price is None or price_of(route.price) is None):
        raise UsageError(
            f"--max-usd: the price of {route.model} is not known",
            hint="limit it with --max-tokens or --max-turns",
        )


def _check_policies(routes: Iterable[Route]) -> None:
    """A scripted model goes by its file's name alone."""
    seen: dict[str, str] = {}
    for route in routes:
        if not route.policy:
            continue
        other = seen.setdefault(route.upstream, route.policy)
        if other != route.policy:
            raise UsageError(
                f"two scripted models have the name {route.upstream}: {other} and {route.policy}",
                hint="rename one of the files",
            )


class Models:
    """The running gateway of a job, as the job sees it."""

    def __init__(self, job: Path, client: GatewayClient) -> None:
        self.job = job
        self.client = client

    def attach(self, job: Job) -> None:
        """Close each trial of `job` at its end and write its totals down."""
        job.on_trial_ended(self._ended)

    async def _ended(self, event: TrialHookEvent) -> None:
        trial = event.config.trials_dir / event.config.trial_name
        task = asyncio.current_task()
        try:
            if task is None or not task.cancelling():  # who stops a job waits for no provider
                await self._answers(trial.name)
            self.finish(trial)
        except InfrastructureError as error:
            # The agent found no gateway either. Its trial has a result already, and the totals that
            # a later command reads from the ledger know of no call that was never taken.
            if is_metered(event.config.agent):
                add_fault(trial, "the model gateway", error)
            raise

    async def _answers(self, trial: str) -> None:
        """Wait for answers that nobody reads any more: they are paid for, so they are counted."""
        waited = 0.0
        while waited < _ANSWER_SECONDS and self._under_way(trial):
            await asyncio.sleep(_LOOK_SECONDS)
            waited += _LOOK_SECONDS

    def _under_way(self, trial: str) -> int:
        try:
            return int(self.client.trial(trial)["under_way"])
        except UsageError:
            return 0  # its agent uses no model

    def finish(self, trial: Path) -> None:
        """End one trial and write its totals down."""
        known = {each["trial"] for each in self.client.totals()["trials"]}
        if trial.name in known:
            _write_totals(trial, self.client.close(trial.name))

    def close_all(self) -> None:
        """End the trials that were cut off: nobody works on any, and their tokens are void."""
        for each in self.client.totals()["trials"]:
            if each["trial"] != HOST:
                self.client.close(each["trial"])

    def close(self) -> None:
        """Stop the gateway: the job is over."""
        self.client.stop()


def settle(job: Path) -> list[Path]:
    """Write down the totals of finished trials that have none: the orchestrator was killed between
    the trial's result and them. Returns those trials."""
    settled = []
    for name, tally in replay(job / LEDGER).tallies.items():
        trial = job / name
        if (trial / "result.json").is_file() and not (trial / metered.NAME).exists():
            _write_totals(trial, tally.summary())
            settled.append(trial)
    return settled


def _write_totals(trial: Path, totals: dict[str, Any]) -> None:
    """A model that failed at a trial's end is a fault of ours, not the agent's."""
    if totals["failing"] and not totals["budget_exhausted"]:
        calls = f"the last {totals['failing']} calls" if totals["failing"] > 1 else "the last call"
        error = InfrastructureError(f"{calls} failed: {totals['last_failure']}")
        add_fault(trial, f"calls to {totals['model']}", error)
    # Last: a trial that has it is settled.
    write_json(trial / metered.NAME, {"schema": 1, **totals})


def prepare(job: Path, config: Config | None) -> None:
    """Write down which gateway a job needs, before the job itself is: a process killed in
    between leaves a job that can be resumed, or none."""
    if config is not None:
        process.prepare(folder(job), config, job / LEDGER)


def start(job: Path, config: Config | None, keys: Mapping[str, str] | None = None) -> Models | None:
    """Start the gateway of a job and take the keys out of this process's environment. `keys`: such
    as are not in it."""
    if config is None:
        return None
    client = process.ensure(folder(job), config, job / LEDGER, {**_taken, **(keys or {})})
    models = Models(job, client)
    _take_keys(models, config)
    return models


def again(job: Path, change: Callable[[Config], Config]) -> Models | None:
    """The gateway of a job that is resumed; None when the job has none.

    One that still runs is found again, unless `change` makes another configuration of its own, or
    a key was corrected meanwhile.
    """
    path = folder(job) / "config.json"
    try:
        config = Config.model_validate(json.loads(path.read_text(encoding="utf-8"))["config"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{path}: cannot be read ({error})", hint="start a new job") from error
    names = {place.key_env for route in config.routes for place in route.places if place.key_env}
    keys = {name: os.environ.get(name) or _taken.get(name, "") for name in sorted(names)}
    missing = [name for name, key in keys.items() if not key]
    running, wanted = process.answering(folder(job)), change(config)
    if missing and (running is None or wanted != config):
        raise UsageError(f"no key for the job's models: {', '.join(missing)} is not set")
    if running is not None and (wanted != config or not (missing or running.has(keys))):
        running.stop()
    models = start(job, wanted)
    if models is not None:
        models.close_all()
    return models


#: What was taken out of the environment, for gateways of later jobs of this process.
_taken: dict[str, str] = {}


def _take_keys(models: Models, config: Config) -> None:
    """Replace the providers' keys in our environment.

    Harbor's agents look there, and what they find they carry into sandboxes. An agent that thinks
    in this process and knows no better is metered as `HOST`, where the job has but one model.
    """
    for name in [*os.environ]:
        if is_key(name):
            _taken[name] = os.environ.pop(name)
    if len(config.routes) == 1:
        opened = models.client.open(HOST, config.routes[0].model, Budget(turns=10**9))
        os.environ.update(access(opened.urls, opened.token))

"""A gateway in front of a scripted model, both real processes, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_clients import TALKS, Talk

from benchflow.gateway.client import GatewayClient, ensure
from benchflow.gateway.config import Budget, Config, Limits, Patience, Place, Route
from benchflow.gateway.models.providers import SCRIPTED_PRICE
from benchflow.scripted_model import Policy, ScriptedModel

KEY = "provider-key-1234567890"
QUICK = Patience(seconds=5, shortest=0.01, longest=0.1, silence=4)
PROTOCOLS = tuple(TALKS)


@dataclass
class Bench:
    """A running gateway, the scripted model behind it and the folder of both."""

    folder: Path
    model: ScriptedModel
    client: GatewayClient
    config: Config

    @property
    def ledger(self) -> Path:
        return self.folder / "calls.jsonl"

    def records(self, event: str = "call") -> list[dict[str, Any]]:
        lines = self.ledger.read_text().splitlines()
        return [r for line in lines if (r := json.loads(line))["event"] == event]

    def talk(self, trial: str, protocol: str, model: str = "", tool: str = "bash") -> Talk:
        """A conversation of a trial, over the host's loopback."""
        name = model or self.config.routes[0].model
        opened = self.client.open(trial, name)
        return TALKS[protocol](opened.urls, opened.token, "whatever-the-agent-calls-it", tool)

    def again(self) -> GatewayClient:
        """The gateway of the same folder, started anew if it is gone."""
        self.client = ensure(self.folder / "state", self.config, self.ledger, {"THE_KEY": KEY})
        return self.client


def scripted_route(url: str, name: str, **changes: Any) -> Route:
    return Route(
        model=f"scripted/{name}",
        upstream=name,
        provider="scripted",
        protocols=changes.pop("protocols", TALKS_PROTOCOLS),
        places=changes.pop("places", (Place(url=url, key_env="THE_KEY"),)),
        price=changes.pop("price", SCRIPTED_PRICE),
        limits=changes.pop("limits", Limits()),
        scripted=True,
    )


TALKS_PROTOCOLS = tuple(talk.protocol for talk in TALKS.values())


@contextmanager
def running(
    folder: Path,
    policies: Mapping[str, Policy],
    *,
    budget: Budget | None = None,
    patience: Patience = QUICK,
    bodies: bool = False,
    limits: Limits | None = None,
    linger: float = 5.0,
) -> Iterator[Bench]:
    """A gateway whose models are `policies`; everything is stopped at the end."""
    with ScriptedModel.start(policies, key=KEY) as model:
        config = Config(
            routes=tuple(
                scripted_route(model.url, name, limits=limits or Limits()) for name in policies
            ),
            budget=budget or Budget(),
            patience=patience,
            bodies=bodies,
            linger=linger,
        )
        client = ensure(folder / "state", config, folder / "calls.jsonl", {"THE_KEY": KEY})
        bench = Bench(folder, model, client, config)
        try:
            yield bench
        finally:
            bench.client.stop()

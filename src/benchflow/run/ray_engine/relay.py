"""A node's own gateway: it knows one model, and reaches it by the driver's gateway.

Keys, limits of providers, budgets and the ledger are the driver's alone, so they hold over all
nodes exactly, and no node ever sees a key. The node's gateway is what its sandboxes can reach; it
waits and tries again while the network between the two is gone.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchflow.gateway.config import Config, Limits, Place
from benchflow.model_apis.protocols import Protocol
from benchflow.run.models.gateway_access import folder
from benchflow.run.ray_engine.order import UPSTREAM_KEY


def relayed(job: Path, model: str, url: str) -> Config:
    """The configuration of a node's gateway for one model of a job, whose gateway answers nodes at
    `url`. Every protocol is passed on as it is: the driver's translates."""
    saved = json.loads((folder(job) / "config.json").read_text(encoding="utf-8"))["config"]
    config = Config.model_validate(saved)
    (route,) = (each for each in config.routes if each.model == model)
    passed = route.model_copy(
        update={
            "protocols": tuple(Protocol),
            "places": (Place(url=url, key_env=UPSTREAM_KEY),),
            "limits": Limits(),
            "scripted": False,
            "policy": "",
            "relayed": True,
        }
    )
    return config.model_copy(update={"routes": (passed,)})

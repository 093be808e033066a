"""Agent layers: an agent's program and its runtime, installed once, shown read-only in sandboxes.

`catalogue` says what each agent is made of, `lock` which versions with which checksums, `store`
where layers are, `install` makes one, `harbor` has Harbor's agents that use them. Nothing here
knows of sandboxes: who makes a layer that needs one passes a `Workshop` (docs/agents.md).
"""

from __future__ import annotations

from benchflow.agents.layers.catalogue import AGENTS, AgentSpec, find
from benchflow.agents.layers.install import Workshop, install
from benchflow.agents.layers.lock import AgentLock, read_lock
from benchflow.agents.layers.store import (
    Layer,
    all_layers,
    installed,
    layer_of,
    locked,
    locked_id,
    measure,
)

__all__ = [
    "AGENTS",
    "AgentLock",
    "AgentSpec",
    "Layer",
    "Workshop",
    "all_layers",
    "find",
    "install",
    "installed",
    "layer_of",
    "locked",
    "locked_id",
    "measure",
    "read_lock",
]

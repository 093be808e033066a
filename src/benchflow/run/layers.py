"""Agent layers in a run: which agents use one, that it is there, and where a sandbox shows it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchflow.agents.layers import AGENTS, Layer, install, layer_of
from benchflow.agents.layers import find as find_spec
from benchflow.errors import UsageError
from benchflow.run.workshop import SandboxWorkshop
from benchflow.sandbox import Mount


def layered(name: str, wanted: str, options: dict[str, Any]) -> tuple[str, str]:
    """Our class for Harbor's agent `name`, and the layer that it uses; two empty texts for none.

    `wanted`: a layer's id (an older one, say), else the locked version's, installed when missing.
    An agent for which another `version` is asked than the layer's is installed as Harbor does it.
    Raises UsageError, and InfrastructureError when the layer cannot be made.
    """
    if name not in AGENTS:
        if wanted:
            raise UsageError(
                f"there is no layer for {name!r}", hint=f"there is one for: {', '.join(AGENTS)}"
            )
        return "", ""
    spec = AGENTS[name]
    layer = layer_of(wanted) if wanted else ensure(name)
    if layer.agent != name:
        raise UsageError(f"{layer.id} is not a layer of {name}")
    if str(options.get("version", layer.version)) != layer.version:
        return "", ""
    return spec.wrapper, layer.id


def ensure(name: str) -> Layer:
    """The layer of the locked version, made first where it is missing, which is said on stderr."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    return install(find_spec(name), SandboxWorkshop(), on_progress=say)


def mounts(trial_config: Path) -> list[Mount]:
    """What the sandbox of a trial with that config.json shows read-only: its agent's layer."""
    try:
        agent = json.loads(trial_config.read_text(encoding="utf-8")).get("agent") or {}
    except FileNotFoundError:
        return []
    identity = (agent.get("kwargs") or {}).get("layer")
    if not isinstance(identity, str):
        return []
    layer = layer_of(identity)
    return [Mount(layer.path, find_spec(layer.agent).inside)]

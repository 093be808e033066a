"""Agent layers in a run: which agents use one, that it is there, and where a sandbox shows it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.agents.layers import AGENTS, Layer, install, installed, layer_of, locked_id, measure
from benchflow.agents.layers import find as find_spec
from benchflow.errors import UsageError
from benchflow.run.job.layer_runtime import SandboxWorkshop
from benchflow.sandbox import Mount, Sandbox, debian

if TYPE_CHECKING:
    from harbor.models.trial.config import AgentConfig


def layered(name: str, wanted: str, options: dict[str, Any]) -> tuple[str, str]:
    """Our class for Harbor's agent `name`, and the layer that it uses; two empty texts for none.

    `wanted`: the id of a layer that is there (an older one, say), else the locked version's is
    taken, which may be missing (see `provide`). An agent for which another `version` is asked than
    the layer's is installed as Harbor does it. Raises UsageError, and InfrastructureError for a
    `wanted` one that is missing.
    """
    if name not in AGENTS:
        if wanted:
            raise UsageError(
                f"there is no layer for {name!r}", hint=f"there is one for: {', '.join(AGENTS)}"
            )
        return "", ""
    spec = AGENTS[name]
    if wanted:
        layer = layer_of(wanted)
        if layer.agent != name:
            raise UsageError(f"{layer.id} is not a layer of {name}")
        identity, version = layer.id, layer.version
    else:
        identity, version = locked_id(spec)
    if str(options.get("version", version)) != version:
        return "", ""
    return spec.wrapper, identity


def provide(agents: Iterable[AgentConfig]) -> None:
    """Makes the locked layers that `agents` use where they are missing, which takes minutes.

    Raises InfrastructureError when one cannot be made.
    """
    for identity in dict.fromkeys(str(agent.kwargs.get("layer", "")) for agent in agents):
        name = identity.partition("/")[0]
        if name in AGENTS and identity == locked_id(AGENTS[name])[0]:
            ensure(name)


def ensure(name: str, *, again: bool = False) -> Layer:
    """The layer of the locked version; made where it is missing, or `again`; stderr says so."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    return install(find_spec(name), SandboxWorkshop(), on_progress=say, again=again)


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


@dataclass(frozen=True)
class Health:
    """What `check` found. `state`: "ok", "not installed", "damaged" or "does not start".

    `detail` says why, or what the program printed; `seconds` is how long it took to print it.
    """

    agent: str
    state: str
    detail: str
    seconds: float | None = None


def check(name: str) -> Health:
    """Compares a layer with its digest, then starts its program in a sandbox without network."""
    spec = find_spec(name)
    layer = installed(spec)
    if layer is None:
        return Health(name, "not installed", f"benchflow agents install {name}")
    content, _ = measure(layer.path)
    if content != layer.content:
        return Health(name, "damaged", f"benchflow agents install {name} --again")
    shown = [Mount(layer.path, spec.inside)]
    with Sandbox.start(debian(), network="none", mounts=shown) as box:
        started = time.monotonic()
        done = box.exec(f"PATH={spec.inside}/bin:$PATH; {spec.probe}", timeout=120)
        seconds = round(time.monotonic() - started, 3)
    said = (done.text.strip() or done.error_text.strip()).splitlines()
    line = said[0] if said else f"exit status {done.status}"
    return Health(name, "does not start" if done.status else "ok", line, seconds)

"""Agents behind the gateway: any agent class, told of its model in its own way.

`benchflow.run.models.gateway_agent:MODULE:CLASS` is a subclass of that agent, made when it is asked
for. It opens its trial at the job's gateway and gives the agent a throw-away token and the
gateway's URLs; what the agent says of itself stays the same, its model's name included.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.errors import InfrastructureError
from benchflow.run.models.gateway_access import PREFIX, access, folder, is_metered

if TYPE_CHECKING:
    from harbor.agents.base import BaseAgent
    from harbor.models.trial.config import AgentConfig

    from benchflow.gateway.client import GatewayClient

_UNMETERED = ("oracle", "nop")
#: The protocol that a program speaks where it has no choice, as the provider it takes for granted.
_FACES = {"claude-code": "anthropic", "gemini-cli": "google", "codex": "openai"}
#: Providers by whose name agents choose a protocol themselves.
_KNOWN_FACES = {"openai": "openai", "anthropic": "anthropic", "gemini": "gemini"}


def meter(config: AgentConfig) -> AgentConfig:
    """The same agent behind the gateway. Agents without a model, and those that have no use for
    one, are returned as they are."""
    from harbor.agents.factory import AgentFactory

    if not config.model_name or config.name in _UNMETERED or is_metered(config):
        return config
    kind = AgentFactory.get_agent_class_from_config(config)
    path = f"{PREFIX}{kind.__module__}:{kind.__qualname__}"
    return config.model_copy(update={"name": None, "import_path": path})


def __getattr__(name: str) -> type[BaseAgent]:
    if ":" not in name:
        raise AttributeError(name)
    return _metered(name)


@cache
def _metered(path: str) -> type[BaseAgent]:
    from harbor.agents.installed.base import BaseInstalledAgent
    from harbor.models.trial.result import AgentInfo, ModelInfo
    from harbor.utils.import_path import import_class

    inner: Any = import_class(path, label="agent")
    inside = issubclass(inner, BaseInstalledAgent)

    def __init__(self: Any, logs_dir: Path, model_name: str, **given: Any) -> None:
        urls, token = _open(logs_dir.parent, model_name, inside=inside)
        face = face_of(inner.name(), model_name)
        environment = {**(given.pop("extra_env", None) or {}), **access(urls, token)}
        if inner.name().startswith("terminus"):
            # It thinks in this process, where variables are not a trial's own.
            url = urls["openai" if face.startswith("openai/") else face.partition("/")[0]]
            given["api_base"] = url
            given["llm_kwargs"] = {**(given.get("llm_kwargs") or {}), "api_key": token}
        self._benchflow_model, self._benchflow_trial = model_name, logs_dir.parent
        inner.__init__(self, logs_dir=logs_dir, model_name=face, extra_env=environment, **given)

    def to_agent_info(self: Any) -> AgentInfo:
        provider, _, name = self._benchflow_model.partition("/")
        shown = ModelInfo(name=name or provider, provider=provider if name else "")
        info: AgentInfo = inner.to_agent_info(self)
        return info.model_copy(update={"model_info": shown})

    async def run(self: Any, instruction: str, environment: Any, context: Any) -> None:
        kept = getattr(environment, "continued", None)
        if kept is None or self._benchflow_goes_on:
            await inner.run(self, instruction, environment, context)
            return
        from benchflow.run.resume.session_resume import end_again, go_on

        if kept.ended is not None:
            end_again(kept.ended)
            return
        self._benchflow_goes_on = True
        await go_on(self, environment, context, kept, lambda: _totals(self._benchflow_trial))

    members = {
        "__init__": __init__,
        "run": run,
        "to_agent_info": to_agent_info,
        "__module__": __name__,
        "_benchflow_goes_on": False,
    }
    return type(inner.__name__, (inner,), members)


def face_of(agent: str, model: str) -> str:
    """The name by which an agent is told of a model, as PROVIDER/NAME: the provider decides which
    protocol it speaks; the gateway knows by the token which model is meant."""
    from benchflow.gateway.models.providers import ALIASES

    provider, _, name = model.partition("/")
    provider = ALIASES.get(provider, provider)
    if provider == "scripted":
        name = Path(name).stem
    elif provider not in _KNOWN_FACES:
        name = model.rpartition("#")[2] if "#" in model else name
    face = _FACES.get(agent) or _KNOWN_FACES.get(provider, "openai")
    if agent == "opencode" and face == "gemini":
        face = "google"
    return f"{face}/{name}"


def _totals(trial: Path) -> dict[str, Any]:
    """What a trial has used of its model so far."""
    return _gateway(trial).trial(trial.name)


def _open(trial: Path, model: str, *, inside: bool) -> tuple[dict[str, str], str]:
    from benchflow.gateway.doors.netns_listener import PORT
    from benchflow.model_apis.protocols import base_urls

    opened = _gateway(trial).open(trial.name, model)
    urls = base_urls(f"http://127.0.0.1:{PORT}") if inside else opened.urls
    return urls, opened.token


def _gateway(trial: Path) -> GatewayClient:
    from benchflow.gateway.client import find

    client = find(folder(trial.parent))
    if client is None:
        raise InfrastructureError(
            "the model gateway of this job is not running", hint="benchflow resume starts it"
        )
    return client

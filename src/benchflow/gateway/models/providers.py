"""From the model that a person names to the route that a gateway takes.

anthropic/NAME, openai/NAME, gemini/NAME …   a provider of the table below, key from its variable
scripted/FILE.toml                           the scripted model, playing that policy
URL#NAME                                     any OpenAI-compatible endpoint (vLLM, Ollama …)
provider/NAME                                another provider that LiteLLM knows: it translates
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.errors import UsageError
from benchflow.gateway.config import Limits, Place, Route
from benchflow.gateway.models import prices
from benchflow.model_apis.protocols import Protocol

_CHAT = (Protocol.CHAT,)


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider answers, in which protocols, and which variables may hold its key (the
    first that is set is taken). `url_env`: a variable that replaces the URL."""

    url: str
    key_envs: tuple[str, ...]
    protocols: tuple[Protocol, ...] = _CHAT
    url_env: str = ""


#: Providers that are passed through as they are. URLs from their API references.
PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        (Protocol.CHAT, Protocol.RESPONSES),
        "OPENAI_BASE_URL",
    ),
    "anthropic": Provider(
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        (Protocol.MESSAGES,),
        "ANTHROPIC_BASE_URL",
    ),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        (Protocol.GEMINI,),
        "GOOGLE_GEMINI_BASE_URL",
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        (Protocol.CHAT, Protocol.RESPONSES),
        "OPENROUTER_BASE_URL",
    ),
    "deepseek": Provider("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "groq": Provider("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": Provider("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "xai": Provider(
        "https://api.x.ai/v1", ("XAI_API_KEY",), (Protocol.CHAT, Protocol.RESPONSES)
    ),
    "together_ai": Provider("https://api.together.xyz/v1", ("TOGETHERAI_API_KEY",)),
    "fireworks_ai": Provider("https://api.fireworks.ai/inference/v1", ("FIREWORKS_AI_API_KEY",)),
    "cerebras": Provider("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "moonshot": Provider("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
}  # fmt: skip
ALIASES = {"google": "gemini", "together": "together_ai", "fireworks": "fireworks_ai"}
#: What the scripted model "costs": dollars per token, so that totals can be checked.
SCRIPTED_PRICE = {
    "input_cost_per_token": "1e-6",
    "output_cost_per_token": "1e-5",
    "cache_read_input_token_cost": "1e-7",
    "cache_creation_input_token_cost": "1.25e-6",
}


def route(
    model: str,
    environment: Mapping[str, str],
    *,
    limits: Limits | None = None,
    price: Mapping[str, Any] | None = None,
) -> Route:
    """The route to `model`. `price` (keys of LiteLLM's table) replaces what the table says.

    Raises UsageError where the model has no provider or the provider no key.
    """
    chosen = limits or Limits()
    if model.startswith(("http://", "https://")):
        url, separator, name = model.partition("#")
        if not separator or not name:
            raise UsageError(f"{model}: which model there?", hint="write it as URL#NAME")
        places = (Place(url=url, key_env=_any_key(environment)),)
        return Route(
            model=model, upstream=name, provider="openai", protocols=_CHAT, places=places,
            limits=chosen, price=dict(price) if price else None,
        )  # fmt: skip
    given, separator, name = model.partition("/")
    if not separator or not name:
        raise UsageError(
            f"{model!r} does not say whose model it is",
            hint="write PROVIDER/NAME, such as anthropic/NAME, or URL#NAME",
        )
    provider = ALIASES.get(given, given)
    if provider == "scripted":
        return _scripted(model, Path(name), chosen, price)
    known = PROVIDERS.get(provider)
    facts = dict(price) if price else prices.facts(provider, name)
    if known is None:
        return _foreign(model, provider, name, environment, chosen, facts)
    key_env = next((env for env in known.key_envs if environment.get(env)), "")
    if not key_env:
        raise UsageError(f"no key for {model}", hint=f"set {' or '.join(known.key_envs)}")
    url = environment.get(known.url_env, "") or known.url if known.url_env else known.url
    return Route(
        model=model, upstream=name, provider=provider, protocols=known.protocols,
        places=(Place(url=_rooted(url, known), key_env=key_env),), limits=chosen, price=facts,
    )  # fmt: skip


def _scripted(model: str, file: Path, limits: Limits, price: Mapping[str, Any] | None) -> Route:
    from benchflow.scripted_model.policy_file import load

    load(file)  # what is wrong with it is said now
    return Route(
        model=model, upstream=file.stem, provider="scripted", protocols=tuple(Protocol), places=(),
        limits=limits, price=dict(price or SCRIPTED_PRICE), scripted=True,
        policy=str(file.resolve()),
    )  # fmt: skip


def _rooted(url: str, provider: Provider) -> str:
    """A URL given by a variable, as we put paths behind it: Anthropic's and Gemini's without the
    version, which some tools want in it."""
    plain = url.rstrip("/")
    if Protocol.CHAT in provider.protocols:
        return plain
    return plain.removesuffix("/v1beta").removesuffix("/v1")


def _any_key(environment: Mapping[str, str]) -> str:
    """The variable with the key of an endpoint given by URL; local servers need none."""
    return "BENCHFLOW_ENDPOINT_KEY" if environment.get("BENCHFLOW_ENDPOINT_KEY") else ""


def _foreign(
    model: str,
    provider: str,
    name: str,
    environment: Mapping[str, str],
    limits: Limits,
    facts: dict[str, Any] | None,
) -> Route:
    listed = {str(entry.get("litellm_provider", "")) for entry in prices.table().values()}
    if facts is None and provider not in listed:
        every = sorted({*PROVIDERS, *ALIASES, "scripted", *listed} - {""})
        close = difflib.get_close_matches(provider, every, n=1)
        hint = f"did you mean {close[0]}/{name}?" if close else "or an endpoint: URL#NAME"
        raise UsageError(f"no provider {provider!r} is known", hint=hint)
    key_env = f"{provider.upper()}_API_KEY"
    return Route(
        model=model, upstream=name, provider=provider, protocols=(),
        places=(Place(url="", key_env=key_env if environment.get(key_env) else ""),),
        limits=limits, price=facts,
    )  # fmt: skip

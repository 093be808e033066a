"""What is sent to a provider: address, headers and body of a call, made from the agent's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from benchflow.gateway.config import Place, Route
from benchflow.model_apis.protocols import Endpoint, Protocol, auth_headers

#: The name by which the scripted model tells trials apart; other providers never see it.
CALLER_HEADER = "X-Benchflow-Trial"
# What the agent says to the gateway alone: its token, its connection, its encodings.
_OURS = frozenset(
    {
        "accept-encoding", "authorization", "connection", "content-encoding", "content-length",
        "cookie", "expect", "forwarded", "host", "keep-alive", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via", "x-api-key",
        "x-goog-api-key", "x-goog-user-project", "x-real-ip", "openai-organization",
        "openai-project", "x-benchflow-trial",
    }
)  # fmt: skip
_OURS_STARTS = ("x-forwarded-", "sec-", "cf-")
_KEPT_BACK = frozenset(
    {
        "connection", "content-encoding", "content-length", "keep-alive", "set-cookie",
        "transfer-encoding", "alt-svc", "strict-transport-security", "openai-organization",
        "openai-project", "anthropic-organization-id", "date", "server",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A call as it goes out. `hides_usage`: the agent did not ask for the token counts that the
    stream now ends with, and must not see them."""

    body: bytes
    hides_usage: bool = False


def outgoing(route: Route, meaning: Endpoint, raw: bytes, body: dict[str, Any]) -> Outgoing:
    """The body with the model's name at the provider; unchanged bytes where that is the same."""
    changed = dict(body)
    if meaning.protocol is not Protocol.GEMINI:
        changed["model"] = route.upstream
    hides = False
    if meaning.protocol is Protocol.CHAT and body.get("stream") is True:
        options = body.get("stream_options")
        asked = dict(options) if isinstance(options, dict) else {}
        hides = asked.get("include_usage") is not True
        changed["stream_options"] = asked | {"include_usage": True}
    if changed == body:
        return Outgoing(raw)
    return Outgoing(json.dumps(changed).encode(), hides)


def url(place: Place, route: Route, meaning: Endpoint, query: Mapping[str, str]) -> str:
    """The address of a call at a place."""
    if meaning.protocol is Protocol.GEMINI:
        verb = "streamGenerateContent" if meaning.stream else "generateContent"
        verb = "countTokens" if meaning.purpose == "count" else verb
        path = f"/v1beta/models/{route.upstream}:{verb}"
    elif meaning.protocol is Protocol.MESSAGES:
        path = "/v1/messages/count_tokens" if meaning.purpose == "count" else "/v1/messages"
    else:
        path = "/responses" if meaning.protocol is Protocol.RESPONSES else "/chat/completions"
    kept = {name: value for name, value in query.items() if name in ("alt", "beta")}
    return place.url.rstrip("/") + path + (f"?{urlencode(kept)}" if kept else "")


def headers(
    given: Mapping[str, str], protocol: Protocol, key: str, route: Route, trial: str
) -> dict[str, str]:
    """The agent's own headers without what is ours, and the provider's key."""
    passed = {
        name: value
        for name, value in given.items()
        if name.lower() not in _OURS and not name.lower().startswith(_OURS_STARTS)
    }
    passed |= {"Accept-Encoding": "identity", **auth_headers(protocol, key)}
    if protocol is Protocol.MESSAGES and "anthropic-version" not in given:
        passed["anthropic-version"] = "2023-06-01"
    if route.scripted:
        passed[CALLER_HEADER] = trial
    return passed


def returned_headers(given: Mapping[str, str]) -> dict[str, str]:
    """The provider's headers that an agent may see."""
    return {name: value for name, value in given.items() if name.lower() not in _KEPT_BACK}

"""The four protocols: their addresses, where a key stands, and how each says that it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal


class Protocol(StrEnum):
    """A way of talking to a model, as a provider documents it."""

    CHAT = "openai-chat"
    RESPONSES = "openai-responses"
    MESSAGES = "anthropic"
    GEMINI = "gemini"


#: What an address is for: an answer of the model, a count of tokens, or the list of models.
Purpose = Literal["generate", "count", "models"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a path means. `model` and `stream` are known from the path in Gemini's protocol alone;
    elsewhere they stand in the body, and are empty here."""

    protocol: Protocol
    purpose: Purpose
    model: str = ""
    stream: bool = False


# Clients disagree on who adds the version, so any number of them may stand before the name.
_VERSION = r"(?:/v\d[a-z0-9]*)*"
_GEMINI = re.compile(rf"{_VERSION}/models/(?P<model>[^/:]+):(?P<verb>[A-Za-z]+)")
_PATHS = (
    (re.compile(rf"{_VERSION}/chat/completions"), Endpoint(Protocol.CHAT, "generate")),
    (re.compile(rf"{_VERSION}/responses"), Endpoint(Protocol.RESPONSES, "generate")),
    (re.compile(rf"{_VERSION}/messages"), Endpoint(Protocol.MESSAGES, "generate")),
    (re.compile(rf"{_VERSION}/messages/count_tokens"), Endpoint(Protocol.MESSAGES, "count")),
)
_GEMINI_VERBS: dict[str, tuple[Purpose, bool]] = {
    "generateContent": ("generate", False),
    "streamGenerateContent": ("generate", True),
    "countTokens": ("count", False),
}


def endpoint(path: str, headers: Mapping[str, str]) -> Endpoint | None:
    """What `path` (without its query) is for; None when it belongs to no protocol."""
    found = _GEMINI.fullmatch(path)
    if found:
        verb = _GEMINI_VERBS.get(found["verb"])
        return Endpoint(Protocol.GEMINI, verb[0], found["model"], verb[1]) if verb else None
    for pattern, meaning in _PATHS:
        if pattern.fullmatch(path):
            return meaning
    if re.fullmatch(rf"{_VERSION}/models(/[^/]+)?", path):
        if "anthropic-version" in headers:
            return Endpoint(Protocol.MESSAGES, "models")
        gemini = "x-goog-api-key" in headers or "v1beta" in path
        return Endpoint(Protocol.GEMINI if gemini else Protocol.CHAT, "models")
    return None


def base_urls(root: str) -> dict[str, str]:
    """The base URL that each kind of client is given, for a server at `root`.

    `openai` (chat and responses) ends in /v1; `anthropic` and `gemini` add the version themselves.
    """
    return {"openai": f"{root}/v1", "anthropic": root, "gemini": root}


def key_of(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    """The key that a request carries, wherever its protocol puts it; empty when it has none."""
    authorization = headers.get("Authorization", "")
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or query.get("key") or ""


def auth_headers(protocol: Protocol, key: str) -> dict[str, str]:
    """The headers that carry `key` to a provider that speaks `protocol`."""
    if not key:
        return {}
    if protocol is Protocol.MESSAGES:
        return {"x-api-key": key}
    if protocol is Protocol.GEMINI:
        return {"x-goog-api-key": key}
    return {"Authorization": f"Bearer {key}"}


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that is none: what each protocol's client is told, by `status` and `code`.

    `code` is OpenAI's machine-readable name ("context_length_exceeded"); the other protocols have
    names for the status alone.
    """

    status: int
    message: str
    code: str = ""


_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GOOGLE_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def failure_body(protocol: Protocol, failure: Failure) -> dict[str, Any]:
    """`failure` in the form of `protocol`.

    Forms: OpenAI's API reference ("Error codes"), Anthropic's ("Errors"), Google's AIP-193.
    """
    if protocol is Protocol.MESSAGES:
        kind = _ANTHROPIC_TYPES.get(failure.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": failure.message}}
    if protocol is Protocol.GEMINI:
        name = _GOOGLE_STATUS.get(failure.status, "UNKNOWN")
        return {"error": {"code": failure.status, "message": failure.message, "status": name}}
    default = "server_error" if failure.status >= 500 else "invalid_request_error"
    kind = _OPENAI_TYPES.get(failure.status, default)
    code = failure.code or None
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": code}}

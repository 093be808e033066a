"""How each protocol writes what the scripted model says: whole, or as a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.scripted_model.protocols_out import chat, gemini, messages, responses
from benchflow.scripted_model.protocols_out.answer import Answer, Event

type _Body = Callable[[Answer], dict[str, Any]]
type _Events = Callable[[Answer, bool], list[Event]]

_MODULES: dict[Protocol, tuple[_Body, _Events]] = {
    Protocol.CHAT: (chat.body, chat.events),
    Protocol.RESPONSES: (responses.body, responses.events),
    Protocol.MESSAGES: (messages.body, messages.events),
    Protocol.GEMINI: (gemini.body, gemini.events),
}


def body(protocol: Protocol, answer: Answer) -> dict[str, Any]:
    """The whole answer as one JSON object."""
    return _MODULES[protocol][0](answer)


def events(protocol: Protocol, answer: Answer, *, include_usage: bool) -> list[Event]:
    """The answer as a stream. `include_usage` matters to OpenAI's chat alone."""
    return _MODULES[protocol][1](answer, include_usage)

"""What the scripted model says, and how each protocol writes it: whole, or as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import Usage

#: The time that every answer bears: a replay gives the same bytes.
CREATED = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `broken`: its arguments are cut off in the middle."""

    id: str
    name: str
    arguments: dict[str, Any]
    kind: str = "function"
    broken: bool = False

    @property
    def text(self) -> str:
        """The arguments as the model writes them."""
        text = json.dumps(self.arguments)
        return text[: max(len(text) // 2, 1)] if self.broken else text


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `usage` None: the provider says nothing about tokens. `pieces`: into how many
    parts a stream cuts the text and the arguments."""

    id: str
    model: str
    text: str
    usage: Usage | None
    call: Call | None = None
    refused: bool = False
    pieces: int = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream. `piece`: it is a part of the text, before which a slow model waits."""

    data: Any
    name: str = ""
    piece: bool = False


def split(text: str, pieces: int) -> list[str]:
    """`text` in at most `pieces` parts of about the same length, none of them empty."""
    size = max(-(-len(text) // pieces), 1)
    return [text[n : n + size] for n in range(0, len(text), size)]


def body(protocol: Protocol, answer: Answer) -> dict[str, Any]:
    """The whole answer as one JSON object."""
    return _modules()[protocol][0](answer)


def events(protocol: Protocol, answer: Answer, *, include_usage: bool) -> list[Event]:
    """The answer as a stream. `include_usage` matters to OpenAI's chat alone."""
    return _modules()[protocol][1](answer, include_usage)


type _Body = Callable[[Answer], dict[str, Any]]
type _Events = Callable[[Answer, bool], list[Event]]


def _modules() -> dict[Protocol, tuple[_Body, _Events]]:
    from benchflow.scripted_model.protocols_out import chat, gemini, messages, responses

    return {
        Protocol.CHAT: (chat.body, chat.events),
        Protocol.RESPONSES: (responses.body, responses.events),
        Protocol.MESSAGES: (messages.body, messages.events),
        Protocol.GEMINI: (gemini.body, gemini.events),
    }

"""What the scripted model says, apart from how a protocol writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

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

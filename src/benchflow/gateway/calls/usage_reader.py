"""Finding the token counts in a provider's answer while it passes through."""

from __future__ import annotations

import json
import math
from typing import Any

from benchflow.model_apis import usage_forms
from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.sse import Decoder
from benchflow.model_apis.usage import Usage

#: Parts of an event that may hold the usage: Anthropic's, OpenAI's Responses', Groq's.
_HOLDERS = ("message", "response", "x_groq")


class Reader:
    """Reads one answer. `feed` it the bytes as they come; then ask.

    `ended`: the protocol's last event was seen. `error`: what an event of the stream said went
    wrong, or ""; `code`: its machine-readable name. `dollars`: the price that the provider itself
    told (OpenRouter does), or None.
    """

    def __init__(self, protocol: Protocol, *, is_stream: bool) -> None:
        self._protocol = protocol
        self._decoder = Decoder() if is_stream else None
        self._whole: list[bytes] = []
        self._found: dict[str, Any] = {}
        self.ended = False
        self.error = ""
        self.code = ""

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes. Never raises: an answer of no known form has no counts."""
        if self._decoder is None:
            self._whole.append(chunk)
            return
        try:
            for data in self._decoder.feed(chunk):
                self._event(data)
        except ValueError as error:
            self.error = str(error)

    def finish(self) -> None:
        """Say that the answer is over."""
        if self._decoder is not None:
            return
        try:
            body = json.loads(b"".join(self._whole))
        except (ValueError, RecursionError):
            self.error = "the answer is not JSON"
            return
        for item in body if isinstance(body, list) else [body]:
            if isinstance(item, dict):
                self._take(item)

    @property
    def usage(self) -> Usage | None:
        """The counts that were told; None when there were none, or none that can be."""
        return usage_forms.read(self._protocol, self._found) if self._found else None

    @property
    def dollars(self) -> float | None:
        """What the provider says that the call cost."""
        cost = self._found.get("cost")
        try:
            found = float(cost) if isinstance(cost, int | float | str) else -1.0
        except (ValueError, OverflowError):
            return None
        is_price = not isinstance(cost, bool) and math.isfinite(found) and found >= 0
        return found if is_price else None

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.ended = True
        # Few events of a stream matter here, and parsing is what costs time.
        elif b'"usage' in data or b'"error"' in data or b'"message_stop"' in data:
            try:
                event = json.loads(data)
            except (ValueError, RecursionError):
                return
            if isinstance(event, dict):
                self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_stop" or kind in ("response.completed", "response.incomplete"):
            self.ended = True
        if kind in ("error", "response.failed") or isinstance(event.get("error"), dict):
            failed = event.get("response") if kind == "response.failed" else event
            self.error = _told(failed) or "the stream ended with an error"
            told = failed.get("error") if isinstance(failed, dict) else None
            self.code = str(told.get("code", "")) if isinstance(told, dict) else ""
        choices = event.get("choices")
        holders = [event, *(event.get(name) for name in _HOLDERS)]
        # Moonshot's streams tell it in the last choice.
        holders += choices[:1] if isinstance(choices, list) else []
        for holder in holders:
            if isinstance(holder, dict):
                counts = holder.get("usage", holder.get("usageMetadata"))
                if isinstance(counts, dict):
                    self._found = usage_forms.merged(self._found, counts)


def _told(event: Any) -> str:
    error = event.get("error") if isinstance(event, dict) else None
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or error.get("code") or "")
    return str(error or "")


def message_of(body: bytes) -> str:
    """What a provider's error says, as plain text of at most 500 characters."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body[:500].decode("utf-8", "replace")
    told = _told(found[0] if isinstance(found, list) and found else found)
    return (told or body[:500].decode("utf-8", "replace"))[:500]

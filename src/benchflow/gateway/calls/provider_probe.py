"""Whether a provider still answers for a model, asked in the gateway's own words.

A 403 or 404 that comes after good answers can be of two things: an account or a model that is
gone, which is nobody's fault in a trial, or something that the agent's request names (a file, a
tool, another's container), which an agent could ask for on purpose. The agent's words are in its
request; in this one there are none, so it tells the two apart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import aiohttp

from benchflow.gateway.calls import outgoing
from benchflow.gateway.config import Place, Route
from benchflow.model_apis.protocols import Endpoint, Protocol

#: Statuses that say: not with this key, or not this model.
_SHUT = (401, 402, 403, 404)
#: Seconds for which an answer holds: an agent that is refused again and again costs one call.
_HOLDS = 30.0
_PATIENCE = aiohttp.ClientTimeout(total=60)
#: By which the scripted model tells these calls from the trials'.
CALLER = "gateway"

_Question = tuple[str, str, Protocol]


class Plainly:
    """Asks providers plainly. One a gateway; its calls are no trial's, and no trial pays for them
    (a word in, a word out)."""

    def __init__(self, session: aiohttp.ClientSession, keys: Mapping[str, str]) -> None:
        self._session = session
        self._keys = keys
        self._asked: dict[_Question, tuple[float, asyncio.Task[int]]] = {}

    async def refused(self, place: Place, route: Route, protocol: Protocol) -> int:
        """The status with which the provider refuses any call for this model; 0 where it does not,
        and where it cannot be told (it is busy, or out of reach)."""
        question = (place.url, route.model, protocol)
        since, task = self._asked.get(question, (0.0, None))
        if task is None or (task.done() and time.monotonic() - since > _HOLDS):
            task = asyncio.create_task(self._ask(place, route, protocol))
            self._asked[question] = (time.monotonic(), task)
        # Whoever waits may be cancelled with its agent; the others still want to know.
        return await asyncio.shield(task)

    async def _ask(self, place: Place, route: Route, protocol: Protocol) -> int:
        address = outgoing.url(place, route, Endpoint(protocol, "generate"), {})
        key = self._keys.get(place.key_env, "")
        headers = outgoing.headers({}, protocol, key, route, CALLER)
        try:
            async with self._session.post(
                address,
                json=_question(protocol, route.upstream),
                headers=headers,
                allow_redirects=False,
                timeout=_PATIENCE,
            ) as answer:
                return answer.status if answer.status in _SHUT else 0
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0


def _question(protocol: Protocol, model: str) -> dict[str, Any]:
    """The smallest request of each protocol's reference. A model that knows the limit on its answer
    by another name refuses it (400), and is there all the same."""
    if protocol is Protocol.GEMINI:
        limit = {"maxOutputTokens": 1}
        return {"contents": [{"role": "user", "parts": [{"text": "."}]}], "generationConfig": limit}
    if protocol is Protocol.RESPONSES:
        return {"model": model, "input": ".", "max_output_tokens": 16}
    asked = {"model": model, "messages": [{"role": "user", "content": "."}]}
    return asked | {"max_tokens": 1}

"""The gateway's HTTP side: who asks, may they, and then on to the provider."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from aiohttp import web

from benchflow.gateway.accounts.totals import Tally
from benchflow.gateway.accounts.trial_accounts import Trials
from benchflow.gateway.calls import outgoing
from benchflow.gateway.calls.forwarder import NO_RETRY, Call, Forwarder, Report
from benchflow.gateway.config import Config, Route
from benchflow.gateway.redact import Redactor
from benchflow.gateway.translation.litellm_bridge import Translator
from benchflow.model_apis.protocols import (
    Endpoint,
    Failure,
    Protocol,
    endpoint,
    failure_body,
    key_of,
)

MAX_BODY = 64 << 20
#: Of all requests of a trial that are read and answered at a moment.
MAX_BODIES = 256 << 20
#: Budgets end a trial: clients retry what is 429, and must not retry this.
_SPENT = {Protocol.MESSAGES: 402, Protocol.CHAT: 403, Protocol.RESPONSES: 403, Protocol.GEMINI: 403}


class Gateway:
    """Answers agents. `door` is the trial that a listening socket belongs to; a request that came
    in by a door must bear that trial's token, so a token stolen from another trial is of no use."""

    def __init__(
        self,
        config: Config,
        trials: Trials,
        forwarder: Forwarder,
        translator: Translator,
        redact: Redactor,
    ) -> None:
        self._config = config
        self._trials = trials
        self._forwarder = forwarder
        self._translator = translator
        self._redact = redact

    async def handle(self, asked: web.BaseRequest, door: str = "") -> web.StreamResponse:
        """One request of an agent."""
        meaning = endpoint(asked.path, asked.headers)
        if meaning is None:
            message = f"the gateway has no {asked.path}"
            return _fail(Protocol.CHAT, Failure(404, message))
        if asked.headers.get("Upgrade"):
            # Codex tries a WebSocket first, and goes on over HTTP when it is told so.
            return web.Response(status=426)
        tally = self._trials.of_token(key_of(asked.headers, asked.query))
        if tally is None or (door and not hmac.compare_digest(door, tally.trial)):
            message = "the gateway does not know this token: it is of no open trial here"
            return _fail(meaning.protocol, Failure(401, message, "invalid_api_key"))
        route = self._trials.routes[tally.model]
        if meaning.purpose == "models":
            return web.json_response(_models(meaning.protocol, route.model))
        with self._trials.holding(tally.trial) as hold:
            try:
                raw = await _read(asked, hold)
                body = json.loads(raw)
                if not isinstance(body, dict):
                    raise ValueError("the body is not a JSON object")
            except (ValueError, RecursionError) as error:
                return _fail(meaning.protocol, Failure(400, str(error)))
            if (failure := self._spent(meaning.protocol, tally)) is not None:
                return _fail(meaning.protocol, failure, NO_RETRY)
            return await self._forward(asked, meaning, tally, route, raw, body)

    def _spent(self, protocol: Protocol, tally: Tally) -> Failure | None:
        spent = self._trials.exhausted(tally)
        return Failure(_SPENT[protocol], spent, "insufficient_quota") if spent else None

    def _stopped(self, asked: web.BaseRequest, protocol: Protocol, tally: Tally) -> Failure | None:
        """Why a call that has waited is not sent any more."""
        if asked.transport is None:
            return Failure(408, "nobody waits for the answer")
        if tally.closed:
            return Failure(401, "the trial is over", "invalid_api_key")
        return self._spent(protocol, tally)

    async def _forward(
        self,
        asked: web.BaseRequest,
        meaning: Endpoint,
        tally: Tally,
        route: Route,
        raw: bytes,
        body: dict[str, Any],
    ) -> web.StreamResponse:
        is_free = meaning.purpose == "count"
        is_native = meaning.protocol in route.protocols
        if is_free and not is_native:
            return web.json_response(_estimate(meaning.protocol, raw))
        # A call that is translated comes back here, and is written down then.
        is_counted = not is_free and (is_native or not route.protocols)
        call = Call(
            asked=asked,
            meaning=meaning,
            route=route,
            tally=tally,
            out=_same(route, raw) if is_free else outgoing.outgoing(route, meaning, raw, body),
            is_stream=meaning.stream or body.get("stream") is True,
            settle=self._settler(tally.trial, meaning, body) if is_counted else _ignore,
            moved=lambda: self._trials.moved(tally.trial),
            stopped=lambda: self._stopped(asked, meaning.protocol, tally),
        )
        # What comes back here takes its place then: two for one call could wait for each other.
        async with self._trials.slot(tally.trial) if is_counted else nullcontext():
            if is_native:
                return await self._forwarder.forward(call)
            token = self._trials.token(tally.trial)
            return await self._translator.forward(call, body, token)

    def _settler(
        self, trial: str, meaning: Endpoint, body: dict[str, Any]
    ) -> Callable[[Report], None]:
        number = self._trials.begin(trial, meaning.protocol)
        started = time.monotonic()

        def settle(report: Report) -> None:
            facts: dict[str, Any] = {"seconds": round(time.monotonic() - started, 4)}
            if report.first is not None:
                facts["first"] = round(report.first, 4)
            if report.error:
                facts["error"] = self._redact.text(report.error)
            if self._config.bodies:
                answer = report.answer.decode("utf-8", "replace")
                facts["request"] = self._redact.value(body)
                facts["answer"] = self._redact.text(answer)
            self._trials.end(trial, number, report, **facts)

        return settle


def _ignore(report: Report) -> None:
    """Counting tokens costs nothing and is no turn; a translated call is written down once."""


def _same(route: Route, raw: bytes) -> outgoing.Outgoing:
    """A question for a count, with the model's name at the provider."""
    body = json.loads(raw)
    if "model" in body:
        body["model"] = route.upstream
    return outgoing.Outgoing(json.dumps(body).encode())


async def _read(asked: web.BaseRequest, hold: Callable[[int], int]) -> bytes:
    pieces, size = [], 0
    async for piece in asked.content.iter_any():
        size += len(piece)
        if size > MAX_BODY:
            raise ValueError(f"the request is larger than {MAX_BODY >> 20} MiB")
        if hold(len(piece)) > MAX_BODIES:
            raise ValueError(f"the trial's requests are larger than {MAX_BODIES >> 20} MiB in all")
        pieces.append(piece)
    return b"".join(pieces)


def _fail(
    protocol: Protocol, failure: Failure, headers: dict[str, str] | None = None
) -> web.Response:
    body = failure_body(protocol, failure)
    return web.json_response(body, status=failure.status, headers=headers)


def _models(protocol: Protocol, name: str) -> dict[str, Any]:
    """The list of models: the one under test."""
    if protocol is Protocol.GEMINI:
        return {"models": [{"name": f"models/{name}", "displayName": name}]}
    if protocol is Protocol.MESSAGES:
        created = "2024-01-01T00:00:00Z"
        entry = {"type": "model", "id": name, "display_name": name, "created_at": created}
        return {"data": [entry], "has_more": False, "first_id": name, "last_id": name}
    entry = {"id": name, "object": "model", "owned_by": "gateway"}
    return {"object": "list", "data": [entry | {"created": 0}]}


def _estimate(protocol: Protocol, raw: bytes) -> dict[str, int]:
    """A count where the provider has no such service: a quarter of the bytes, as a rule of thumb
    for English text and code."""
    tokens = len(raw) // 4
    return {"totalTokens": tokens} if protocol is Protocol.GEMINI else {"input_tokens": tokens}

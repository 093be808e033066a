"""The scripted model's HTTP server: four protocols in front of one player for each model."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from aiohttp import web

from benchflow.model_apis import sse
from benchflow.model_apis.protocols import (
    Endpoint,
    Failure,
    Protocol,
    endpoint,
    failure_body,
    key_of,
)
from benchflow.model_apis.usage import Usage
from benchflow.scripted_model import protocols_out as answers
from benchflow.scripted_model import request
from benchflow.scripted_model.policy import Fault, Pace, Policy
from benchflow.scripted_model.protocols_out import responses
from benchflow.scripted_model.protocols_out.answer import CREATED, Answer, Event
from benchflow.scripted_model.request import View
from benchflow.scripted_model.responder import Played, Player

#: Tells callers apart when they share a key: the gateway sets it, for scripted models alone.
CALLER_HEADER = "X-Benchflow-Trial"
_MAX_BODY = 256 << 20
_HANG = 24 * 3600.0


@dataclass(slots=True)
class Served:
    """What one caller was given: the truth that a meter has to arrive at."""

    answers: int = 0
    asides: int = 0
    failures: int = 0
    cut: int = 0
    usage: Usage = field(default_factory=Usage)


class ScriptedServer:
    """Serves policies by model name; a name's part before its last "/" is ignored."""

    def __init__(self, policies: Mapping[str, Policy], *, key: str = "") -> None:
        self._players = {name: Player(policy) for name, policy in policies.items()}
        self._key = key
        self._served: dict[str, Served] = {}

    def app(self) -> web.Application:
        """The application, to be run by an aiohttp runner."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_get("/scripted/totals", self._totals)
        app.router.add_route("*", "/{path:.*}", self._handle)
        return app

    async def _totals(self, asked: web.Request) -> web.Response:
        callers = {name: asdict(served) for name, served in self._served.items()}
        return web.json_response({"schema": 1, "callers": callers})

    async def _handle(self, asked: web.Request) -> web.StreamResponse:
        meaning = endpoint(asked.path, asked.headers)
        if meaning is None:
            return self._fail(Protocol.CHAT, Failure(404, f"no such address: {asked.path}"))
        if asked.headers.get("Upgrade"):
            # Codex tries a WebSocket first, and goes on over HTTP when it is told so.
            return web.Response(status=426)
        key = key_of(asked.headers, asked.query)
        if self._key and not hmac.compare_digest(key.encode(), self._key.encode()):
            return self._fail(meaning.protocol, Failure(401, "invalid API key", "invalid_api_key"))
        if meaning.purpose == "models":
            return web.json_response(_models(meaning.protocol, list(self._players)))
        caller = asked.headers.get(CALLER_HEADER) or key or "nobody"
        try:
            view = request.read(
                meaning.protocol, await asked.json(), model=meaning.model, stream=meaning.stream
            )
        except (request.BadRequest, json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._fail(meaning.protocol, Failure(400, str(error)))
        player = self._players.get(view.model.rpartition("/")[2])
        if player is None:
            known = ", ".join(self._players)
            message = f"the model {view.model!r} does not exist; known: {known}"
            return self._fail(meaning.protocol, Failure(404, message, "model_not_found"))
        closed = player.policy.closed
        if closed is not None and self._answers() >= closed.after:
            return self._fail(meaning.protocol, Failure(closed.status, closed.message))
        if meaning.purpose == "count":
            return web.json_response(_count(meaning.protocol, view))
        if view.tools and not player.policy.tool_calls:
            message = f"{view.model} does not support tools"
            return self._fail(meaning.protocol, Failure(400, message))
        served = self._served.setdefault(caller, Served())
        played = player.play(meaning.protocol, view, caller)
        return await self._answer(asked, meaning, view, played, player.policy.pace, served)

    async def _answer(
        self,
        asked: web.Request,
        meaning: Endpoint,
        view: View,
        played: Played,
        pace: Pace,
        served: Served,
    ) -> web.StreamResponse:
        fault = played.fault
        if fault is not None and fault.kind == "hang":
            await asyncio.sleep(_HANG)
        await asyncio.sleep(fault.seconds if fault and fault.kind == "slow" else pace.first)
        if played.failure is not None:
            served.failures += 1
            overflow = played.failure.code == "context_length_exceeded"
            if meaning.protocol is Protocol.RESPONSES and view.stream and overflow:
                empty = Answer("bf_failed", view.model, "", None)
                lines = responses.failed(empty, played.failure.code, played.failure.message)
                return await _stream(asked, lines, pace)
            return self._fail(meaning.protocol, played.failure, fault)
        answer = played.answer
        assert answer is not None
        if fault is not None and fault.kind == "cut":
            served.cut += 1
            return await self._cut(asked, meaning.protocol, view, answer, fault, served)
        if played.step < 0:
            served.asides += 1
        else:
            served.answers += 1
        served.usage += answer.usage or Usage()
        if not view.stream:
            return web.json_response(answers.body(meaning.protocol, answer))
        events = answers.events(meaning.protocol, answer, include_usage=view.include_usage)
        if meaning.protocol is Protocol.GEMINI and asked.query.get("alt") != "sse":
            return web.json_response([event.data for event in events])
        return await _stream(asked, events, pace)

    async def _cut(
        self,
        asked: web.Request,
        protocol: Protocol,
        view: View,
        answer: Answer,
        fault: Fault,
        served: Served,
    ) -> web.StreamResponse:
        """Send a part, then break the connection: chunked, so that a client can tell."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if view.stream:
            events = answers.events(protocol, answer, include_usage=view.include_usage)
            part = b"".join(sse.encode(e.data, e.name) for e in events[: fault.events])
            if protocol is Protocol.MESSAGES and fault.events and answer.usage is not None:
                # message_start told the input and the first token.
                told = answer.usage.as_dict() | {"output": min(1, answer.usage.output)}
                served.usage += Usage.from_dict(told)
        else:
            response.content_type = "application/json"
            whole = json.dumps(answers.body(protocol, answer)).encode()
            part = whole[: len(whole) // 2]
        response.enable_chunked_encoding()
        await response.prepare(asked)
        await response.write(part)
        if asked.transport is not None:
            asked.transport.abort()
        return response

    def _answers(self) -> int:
        return sum(served.answers for served in self._served.values())

    def _fail(
        self, protocol: Protocol, failure: Failure, fault: Fault | None = None
    ) -> web.Response:
        headers = {}
        if fault is not None and fault.retry_after is not None:
            headers["Retry-After"] = f"{fault.retry_after:g}"
        body = failure_body(protocol, failure)
        return web.json_response(body, status=failure.status, headers=headers)


async def _stream(asked: web.Request, events: list[Event], pace: Pace) -> web.StreamResponse:
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    response = web.StreamResponse(headers=headers)
    await response.prepare(asked)
    if not pace.between:
        await response.write(b"".join(sse.encode(event.data, event.name) for event in events))
        return response
    for event in events:
        if event.piece:
            await asyncio.sleep(pace.between)
        await response.write(sse.encode(event.data, event.name))
    return response


def _models(protocol: Protocol, names: list[str]) -> dict[str, Any]:
    data: list[dict[str, Any]]
    if protocol is Protocol.GEMINI:
        return {"models": [{"name": f"models/{n}", "displayName": n} for n in names]}
    if protocol is Protocol.MESSAGES:
        common = {"type": "model", "created_at": "2024-01-01T00:00:00Z"}
        data = [common | {"id": n, "display_name": n} for n in names]
        return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    common = {"object": "model", "owned_by": "scripted"}
    data = [common | {"id": n, "created": CREATED} for n in names]
    return {"object": "list", "data": data}


def _count(protocol: Protocol, view: View) -> dict[str, Any]:
    """A count of tokens as a provider would estimate it: a quarter of the characters."""
    tokens = sum(len(text) for text in (*view.told, *view.said)) // 4
    return {"totalTokens": tokens} if protocol is Protocol.GEMINI else {"input_tokens": tokens}

"""Agents that do not speak a model's protocol: LiteLLM translates.

Where the provider speaks one of the four protocols, LiteLLM's own call comes back to this gateway,
by the trial's token and in that protocol: so the provider's key, its retries, its budget and the
counting of its own usage fields are in one place, and a translation counts nothing. (LiteLLM's
translations lose counts: its stream in Gemini's form says 0.) Only a provider that speaks none of
the four is called by LiteLLM itself, and counted by what LiteLLM says.

LiteLLM is imported at the first such call: it takes seconds and some 150 MB, which a gateway that
only passes calls through never pays. It lives in a thread with a loop of its own, because parts of
it block: in the gateway's loop that would stop every call, and one that comes back for ever.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from benchflow.gateway.calls.forwarder import Call, Outcome, Report, is_theirs, write
from benchflow.gateway.calls.pacing import PASSING
from benchflow.gateway.calls.usage_reader import Reader
from benchflow.gateway.config import Route
from benchflow.gateway.translation import connect_guard
from benchflow.gateway.translation.litellm_allowlist import translatable
from benchflow.model_apis import sse
from benchflow.model_apis.protocols import Failure, Protocol, auth_headers, failure_body

#: LiteLLM's names for "somebody who speaks this protocol at a URL".
_SPEAKERS = {
    Protocol.CHAT: "custom_openai",
    Protocol.MESSAGES: "anthropic",
    Protocol.GEMINI: "gemini",
}


class Translator:
    """Translates calls. `home` is this gateway's own URL, `keys` are the providers'. `walled`: no
    provider is called by LiteLLM itself, so that it has nowhere to go but home."""

    def __init__(self, home: str, keys: Mapping[str, str], *, walled: bool) -> None:
        self._home = home
        self._keys = keys
        self._walled = walled
        self._thread = _Thread()

    async def forward(self, call: Call, body: dict[str, Any], token: str) -> web.StreamResponse:
        """Answer the agent in its own protocol. `call.settle` is called for providers that
        LiteLLM calls itself, and for no others: theirs is settled where the call comes back."""
        comes_back = bool(call.route.protocols)
        settle: Callable[[Report], None] = _nothing if comes_back else call.settle
        if not comes_back and (failure := call.stopped()) is not None:
            return call.refuse(failure)
        try:
            asked = translatable(call.meaning.protocol, body) | self._options(call.route, token)
        except (ValueError, RecursionError) as error:
            return call.refuse(Failure(400, str(error)))
        if self._walled:
            where = urlsplit(self._home)
            connect_guard.build(str(where.hostname), int(where.port or 80))
            self._walled = False
        items = self._thread.ask(call.meaning.protocol, call.is_stream, asked)
        try:
            first = await anext(items)
        except Exception as error:
            return _failed(call, error, settle)
        if call.is_stream:
            return await _stream(call, first, items, settle)
        _count(call, first, settle)
        return web.Response(body=first, content_type="application/json")

    def _options(self, route: Route, token: str) -> dict[str, Any]:
        if not route.protocols:
            key = self._keys.get(route.places[0].key_env, "") or None
            return {"model": f"{route.provider}/{route.upstream}", "api_key": key}
        native = Protocol.CHAT if Protocol.CHAT in route.protocols else route.protocols[0]
        bases = {
            Protocol.MESSAGES: self._home,
            Protocol.GEMINI: f"{self._home}/v1beta",
        }
        return {
            "model": f"{_SPEAKERS[native]}/{route.upstream}",
            "api_base": bases.get(native, f"{self._home}/v1"),
            "api_key": token,
            "extra_headers": auth_headers(native, token),
        }


class _Thread:
    """LiteLLM in its own thread. Started at the first question."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(
        self, protocol: Protocol, is_stream: bool, body: dict[str, Any]
    ) -> AsyncIterator[bytes]:
        """The answer's bytes: the events of a stream, or the one whole answer. Raises what
        LiteLLM raises."""
        home = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True, name="litellm").start()
        came: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue()

        def put(item: bytes | BaseException | None) -> None:
            home.call_soon_threadsafe(came.put_nowait, item)

        work = asyncio.run_coroutine_threadsafe(
            self._work(protocol, is_stream, body, put), self._loop
        )
        try:
            while (item := await came.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            work.cancel()

    async def _work(
        self,
        protocol: Protocol,
        is_stream: bool,
        body: dict[str, Any],
        put: Callable[[bytes | BaseException | None], None],
    ) -> None:
        try:
            given = await _ask(_load(), protocol, is_stream, body)
            if is_stream:
                async for item in given:
                    put(item if isinstance(item, bytes) else _encoded(protocol, item))
            else:
                put(json.dumps(_plain(given)).encode())
        except Exception as error:
            put(error)
        put(None)


@cache
def _load() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched at import
    import litellm
    from litellm.litellm_core_utils import url_utils

    # What it downloads for a model that takes no URLs, it would download from this host.
    url_utils.validate_url = _fetch_nothing
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.num_retries = 0
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm


def _fetch_nothing(url: str) -> tuple[str, str]:
    from litellm.litellm_core_utils.url_utils import SSRFError

    raise SSRFError("the gateway fetches nothing for an agent")


async def _ask(litellm: Any, protocol: Protocol, is_stream: bool, body: dict[str, Any]) -> Any:
    body = {name: value for name, value in body.items() if name != "stream"}
    if protocol is Protocol.GEMINI:
        config = body.pop("generationConfig", None) or body.pop("generation_config", None) or {}
        system = body.pop("systemInstruction", None) or body.pop("system_instruction", None)
        verb = "agenerate_content_stream" if is_stream else "agenerate_content"
        ask: Callable[..., Awaitable[Any]] = getattr(litellm.google_genai, verb)
        return await ask(config=config, systemInstruction=system, max_retries=0, **body)
    if protocol is Protocol.CHAT and is_stream:
        body["stream_options"] = {"include_usage": True}
    asks = {
        Protocol.CHAT: litellm.acompletion,
        Protocol.RESPONSES: litellm.aresponses,
        Protocol.MESSAGES: litellm.anthropic_messages,
    }
    return await asks[protocol](stream=is_stream, max_retries=0, **body)


async def _stream(
    call: Call, first: bytes, rest: AsyncIterator[bytes], settle: Callable[[Report], None]
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    reader, kept, listening = Reader(call.meaning.protocol, is_stream=True), [], True
    try:
        async for data in _chain(first, rest):
            call.moved()
            reader.feed(data)
            kept.append(data)
            # The answer is paid for, whoever still reads it.
            listening = listening and await write(call, response, data)
        if listening and call.meaning.protocol is Protocol.CHAT:
            await write(call, response, sse.encode("[DONE]"))
    except Exception as error:
        # The head is sent: all that is left to say is that the stream broke.
        settle(Report("provider", 0, 1, error=f"{type(error).__name__}: {error}"))
        if call.asked.transport is not None:
            call.asked.transport.abort()
        return response
    outcome: Outcome = "provider" if reader.error else "answered"
    settle(Report(outcome, 200, 1, usage=reader.usage, error=reader.error, answer=b"".join(kept)))
    return response


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for item in rest:
        yield item


def _count(call: Call, whole: bytes, settle: Callable[[Report], None]) -> None:
    reader = Reader(call.meaning.protocol, is_stream=False)
    reader.feed(whole)
    reader.finish()
    settle(Report("answered", 200, 1, usage=reader.usage, answer=whole))


def _failed(call: Call, error: Exception, settle: Callable[[Report], None]) -> web.Response:
    # The status is right innermost; what the provider said stands in the message that wraps it.
    status = _status(_innermost(error)) or 502
    message = str(error).partition("\nTraceback")[0][:2000] or type(error).__name__
    passing = status in PASSING or status >= 500
    refused = not passing and not is_theirs(status, call.tally)
    settle(Report("refused" if refused else "provider", status, 1, error=message))
    body = failure_body(call.meaning.protocol, Failure(status, message))
    return web.json_response(body, status=status)


def _innermost(error: BaseException) -> BaseException:
    """What first went wrong: LiteLLM wraps a provider's refusal in errors of other statuses."""
    found, inner = error, error.__cause__ or error.__context__
    while inner is not None:
        found = inner if _status(inner) else found
        inner = inner.__cause__ or inner.__context__
    return found


def _status(error: BaseException) -> int:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and 400 <= status < 600 else 0


def _plain(given: Any) -> Any:
    if hasattr(given, "model_dump_json"):
        return json.loads(given.model_dump_json(exclude_none=True))
    return given


def _encoded(protocol: Protocol, item: Any) -> bytes:
    plain = _plain(item)
    name = plain.get("type", "") if protocol in (Protocol.RESPONSES, Protocol.MESSAGES) else ""
    return sse.encode(plain, name)


def _nothing(report: Report) -> None:
    """What comes back to the gateway is settled there."""

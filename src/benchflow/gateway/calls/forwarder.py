"""One call of an agent: tried until it is answered or patience ends, passed through and counted."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp
from aiohttp import web

from benchflow.gateway.accounts.totals import Tally
from benchflow.gateway.calls import outgoing, pacing
from benchflow.gateway.calls.outgoing import Outgoing
from benchflow.gateway.calls.provider_probe import Plainly
from benchflow.gateway.calls.usage_reader import Reader, message_of
from benchflow.gateway.config import Config, Place, Route
from benchflow.model_apis.protocols import Endpoint, Failure, failure_body
from benchflow.model_apis.usage import Usage

#: answered: by the model. refused: the request itself was found wrong (too long, no tools).
#: provider: the provider's side failed (down, busy, key refused); says nothing about the agent.
Outcome = Literal["answered", "refused", "provider"]
_NO_QUOTA = "insufficient_quota"
NO_RETRY = {"x-should-retry": "false"}
_OVERFLOW = "context_length_exceeded"
_MAX_ERROR = 1 << 20
#: Of a request in JSON: a rule of thumb, until the provider has counted.
_BYTES_A_TOKEN = 4
_END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
#: Of a key or a model that is gone, or of something that the request names.
_DOUBTFUL = (403, 404)


@dataclass(slots=True)
class Report:
    """What became of a call, for the ledger. `first`: seconds to the first byte of the answer."""

    outcome: Outcome = "provider"
    status: int = 0
    tries: int = 0
    first: float | None = None
    usage: Usage | None = None
    dollars: float | None = None
    error: str = ""
    answer: bytes = b""
    is_settled: bool = False


@dataclass(slots=True)
class Call:
    """One call under way. `settle` writes the report down; it is called once, before the agent can
    see the answer's end. `moved` is called whenever bytes come from the provider. `stopped`: why
    the call must not be sent any more, asked whenever it has waited."""

    asked: web.BaseRequest
    meaning: Endpoint
    route: Route
    tally: Tally
    out: Outgoing
    is_stream: bool
    settle: Callable[[Report], None]
    moved: Callable[[], None]
    stopped: Callable[[], Failure | None]

    def refuse(self, failure: Failure, report: Report | None = None) -> web.Response:
        """Answer for the provider, which is not asked (again)."""
        report = report or Report()
        report.outcome, report.status, report.error = "refused", failure.status, failure.message
        self.settle(report)
        body = failure_body(self.meaning.protocol, failure)
        headers = NO_RETRY if failure.code == _NO_QUOTA else None
        return web.json_response(body, status=failure.status, headers=headers)


class _TryAgain(Exception):
    """A failure that may pass. `wait`: what the provider asked for."""

    def __init__(self, failure: Failure, headers: Any, body: bytes = b"") -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.headers = headers
        self.body = body


class Forwarder:
    """Sends calls to providers. One a gateway: it holds the connections and the limits."""

    def __init__(self, config: Config, keys: dict[str, str]) -> None:
        self._patience = config.patience
        self._keys = keys
        self._pacers = {route.model: pacing.Pacer(route.limits) for route in config.routes}
        self._places = {route.model: pacing.Places(route.places) for route in config.routes}
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=20, sock_read=config.patience.silence
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
            timeout=timeout,
            read_bufsize=1 << 18,
            auto_decompress=True,
        )
        self._plainly = Plainly(self._session, keys)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def forward(self, call: Call) -> web.StreamResponse:
        """Answer the agent. Every failure is an answer in the agent's protocol."""
        report, places = Report(), self._places[call.route.model]
        deadline: float | None = None
        while True:
            report.tries += 1
            place = places.choose()
            try:
                return await self._paced(call, place, report)
            except _TryAgain as again:
                now = time.monotonic()
                deadline = deadline or now + self._patience.seconds
                wait = places.rest(place, pacing.pause(self._patience, report.tries, again.headers))
                if now + wait > deadline or call.asked.transport is None:
                    return self._give_up(call, again, report)
                await asyncio.sleep(wait)

    async def _paced(self, call: Call, place: Place, report: Report) -> web.StreamResponse:
        pacer = self._pacers[call.route.model]
        async with pacer.slot(len(call.out.body) // _BYTES_A_TOKEN) as share:
            try:
                # Budgets are spent, and agents killed, while a call waits for its turn.
                if (failure := call.stopped()) is not None:
                    report.tries -= 1
                    return call.refuse(failure, report)
                async with self._places[call.route.model].at(place):
                    return await self._once(call, place, report)
            finally:
                if report.usage is not None or report.outcome != "answered":
                    pacer.used(share, report.usage.total if report.usage else 0)

    async def _once(self, call: Call, place: Place, report: Report) -> web.StreamResponse:
        protocol = call.meaning.protocol
        address = outgoing.url(place, call.route, call.meaning, call.asked.query)
        key = self._keys.get(place.key_env, "")
        sent = outgoing.headers(call.asked.headers, protocol, key, call.route, call.tally.trial)
        started = time.monotonic()
        response: web.StreamResponse | None = None
        try:
            async with self._session.post(
                address, data=call.out.body, headers=sent, allow_redirects=False
            ) as answer:
                call.moved()
                report.status = answer.status
                if not 200 <= answer.status < 300:
                    return await self._failed(call, place, answer, report)
                report.first = time.monotonic() - started
                if not call.is_stream:
                    return await self._whole(call, answer, report)
                response = web.StreamResponse(
                    status=answer.status, headers=outgoing.returned_headers(answer.headers)
                )
                return await self._stream(call, answer, response, report)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            name = type(error).__name__
            why = f"{name}: {error}" if str(error) else name
            if response is not None and response.prepared:
                return _break_off(call, response, report)
            report.status = 0
            message = f"the provider of {call.route.model} cannot be reached: {why}"
            raise _TryAgain(Failure(503, message), {}) from error

    async def _failed(
        self, call: Call, place: Place, answer: aiohttp.ClientResponse, report: Report
    ) -> web.StreamResponse:
        body = await answer.content.read(_MAX_ERROR)
        report.error = message_of(body)
        # A complaint about a request may quote it: only where it is about money it says that.
        lasting = answer.status in (402, 403, 429) and _NO_QUOTA.encode() in body
        if call.route.relayed:
            return _passed_on(call, answer, body, report)
        if answer.status in pacing.PASSING and not lasting:
            raise _TryAgain(Failure(answer.status, report.error), answer.headers, body)
        theirs = lasting or is_theirs(answer.status, call.tally) or answer.status < 400
        if not theirs and answer.status in _DOUBTFUL:
            asked = self._plainly.refused(place, call.route, call.meaning.protocol)
            if shut := await asked:
                theirs = True
                report.error += f" (and {shut} to a call that names nothing but the model)"
        report.outcome = "provider" if theirs else "refused"
        call.settle(report)
        headers = outgoing.returned_headers(answer.headers)
        return web.Response(status=answer.status, body=body, headers=headers)

    async def _whole(
        self, call: Call, answer: aiohttp.ClientResponse, report: Report
    ) -> web.StreamResponse:
        """A whole answer is read to its end first: when it breaks off, it can be asked again."""
        body = await answer.read()
        reader = Reader(call.meaning.protocol, is_stream=False)
        reader.feed(body)
        reader.finish()
        report.answer = body
        _settle(call, reader, report)
        return web.Response(body=body, headers=outgoing.returned_headers(answer.headers))

    async def _stream(
        self,
        call: Call,
        answer: aiohttp.ClientResponse,
        response: web.StreamResponse,
        report: Report,
    ) -> web.StreamResponse:
        events = "event-stream" in answer.headers.get("Content-Type", "")
        reader = Reader(call.meaning.protocol, is_stream=events)
        listening, kept = True, []
        hider = _UsageHider() if call.out.hides_usage else None
        async for chunk in answer.content.iter_any():
            call.moved()
            reader.feed(chunk)
            kept.append(chunk)
            report.usage = reader.usage
            if reader.ended and not report.is_settled:
                report.answer = b"".join(kept)
                _settle(call, reader, report)
            if listening:
                # An agent that was killed no longer listens; what it asked for is paid for all
                # the same, so the rest is read and counted.
                shown = hider.feed(chunk) if hider else chunk
                listening = await write(call, response, shown)
        if not report.is_settled:
            reader.finish()
            report.answer = b"".join(kept)
            _settle(call, reader, report)
        if listening:
            await write(call, response, hider.rest() if hider else b"")
        return response

    def _give_up(self, call: Call, again: _TryAgain, report: Report) -> web.StreamResponse:
        report.outcome, report.error = "provider", again.failure.message
        call.settle(report)
        if again.body:
            headers = outgoing.returned_headers(again.headers)
            return web.Response(status=again.failure.status, body=again.body, headers=headers)
        body = failure_body(call.meaning.protocol, again.failure)
        return web.json_response(body, status=again.failure.status)


def _passed_on(
    call: Call, answer: aiohttp.ClientResponse, body: bytes, report: Report
) -> web.StreamResponse:
    """What another gateway of ours refuses: it has tried, and its books say whose fault it is."""
    report.outcome = "refused"
    call.settle(report)
    headers = outgoing.returned_headers(answer.headers)
    return web.Response(status=answer.status, body=body, headers=headers)


class _UsageHider:
    """Takes the chunk of token counts out of a chat stream whose reader did not ask for it."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        data = self._rest + chunk
        shown, begun = [], 0
        for end in _END_OF_EVENT.finditer(data):
            if not self._hidden(data[begun : end.start()]):
                shown.append(data[begun : end.end()])
            begun = end.end()
        self._rest = data[begun:]
        return b"".join(shown)

    def rest(self) -> bytes:
        return self._rest

    @staticmethod
    def _hidden(event: bytes) -> bool:
        plain = event.replace(b" ", b"")
        return b'"choices":[]' in plain and b'"usage":{' in plain


def _settle(call: Call, reader: Reader, report: Report) -> None:
    report.usage, report.dollars = reader.usage, reader.dollars
    report.error = reader.error
    report.outcome, report.is_settled = "answered", True
    if reader.error:
        report.outcome = "refused" if reader.code == _OVERFLOW else "provider"
    call.settle(report)


def is_theirs(status: int, tally: Tally) -> bool:
    """Whether a provider's refusal is its own affair: of a key, or of a model that is not there.
    Once the model has answered, what is missing or forbidden may be something else that the request
    names: `plainly` tells, where the provider is ours to ask."""
    return status in (401, 402) or (status in _DOUBTFUL and not tally.turns)


async def write(call: Call, response: web.StreamResponse, data: bytes) -> bool:
    """Send bytes to the agent; says whether it still listens."""
    with contextlib.suppress(ConnectionError, RuntimeError):
        if not response.prepared:
            await response.prepare(call.asked)
        if data:
            await response.write(data)
        return True
    return False


def _break_off(call: Call, response: web.StreamResponse, report: Report) -> web.StreamResponse:
    """The provider's stream broke: the agent's is broken too, so that it can tell and ask again."""
    if not report.is_settled:
        report.outcome, report.error = "provider", "the stream broke off"
        report.is_settled = True
        call.settle(report)
    if call.asked.transport is not None:
        call.asked.transport.abort()
    return response

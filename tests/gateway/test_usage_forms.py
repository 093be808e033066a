"""Usage in every form that providers and proxies write: counted right, or as uncounted, at once.

The forms are those of the providers' own references (OpenAI, Anthropic, Gemini, xAI, DeepSeek,
Moonshot, Groq, OpenRouter, LiteLLM) and of answers that their users have reported.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from gateways import QUICK
from hypothesis import given
from hypothesis import strategies as st

from benchflow.gateway.calls.usage_reader import Reader
from benchflow.gateway.client import ensure
from benchflow.gateway.config import Config, Place, Route
from benchflow.model_apis import usage_forms
from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import Usage

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


NAN = float("nan")
CHAT, RESPONSES, MESSAGES, GEMINI = (
    Protocol.CHAT, Protocol.RESPONSES, Protocol.MESSAGES, Protocol.GEMINI,
)  # fmt: skip


def chat(
    prompt: Any = 1000, completion: Any = 10, total: Any = None, **more: Any
) -> dict[str, Any]:
    told = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **more}
    return {name: value for name, value in told.items() if value is not None}


COUNTED = {
    "openai": (CHAT, chat(total=1010), Usage(1000, output=10)),
    "openai-cached": (
        CHAT,
        chat(total=1010, prompt_tokens_details={"cached_tokens": 900}),
        Usage(100, 900, output=10),
    ),
    "openai-reasoning-inside": (
        CHAT,
        chat(completion=510, total=1510, completion_tokens_details={"reasoning_tokens": 500}),
        Usage(1000, output=510, reasoning=500),
    ),
    "xai-reasoning-outside": (
        CHAT,
        chat(total=1510, completion_tokens_details={"reasoning_tokens": 500}),
        Usage(1000, output=510, reasoning=500),
    ),
    "xai-little-reasoning-outside": (
        CHAT,
        chat(completion=100, total=1150, completion_tokens_details={"reasoning_tokens": 50}),
        Usage(1000, output=150, reasoning=50),
    ),
    "xai-reasoning-without-a-total": (
        CHAT,
        chat(completion_tokens_details={"reasoning_tokens": 500}),
        Usage(1000, output=510, reasoning=500),
    ),
    "xai-cached-and-reasoning": (
        CHAT,
        chat(10120, 1499, 14428, prompt_tokens_details={"cached_tokens": 128},
             completion_tokens_details={"reasoning_tokens": 2809}),
        Usage(9992, 128, output=4308, reasoning=2809),
    ),
    "thoughts-in-the-total-alone": (CHAT, chat(7, 20, 300), Usage(7, output=293, reasoning=273)),
    "deepseek": (
        CHAT,
        chat(total=1010, prompt_cache_hit_tokens=900, prompt_cache_miss_tokens=100),
        Usage(100, 900, output=10),
    ),
    "deepseek-both-names": (
        CHAT,
        chat(total=1010, prompt_cache_hit_tokens=900, prompt_tokens_details={"cached_tokens": 900}),
        Usage(100, 900, output=10),
    ),
    "moonshot": (CHAT, chat(total=1010, cached_tokens=900), Usage(100, 900, output=10)),
    "openrouter": (
        CHAT,
        chat(total=1010, cost=0.95,
             prompt_tokens_details={"cached_tokens": 600, "cache_write_tokens": 100}),
        Usage(300, 600, 100, output=10),
    ),
    "litellm-of-anthropic": (
        CHAT,
        chat(total=1010, cache_read_input_tokens=600, cache_creation_input_tokens=100,
             prompt_tokens_details={"cached_tokens": 600, "cache_creation_tokens": 100}),
        Usage(300, 600, 100, output=10),
    ),
    "cache-outside-of-the-prompt": (
        CHAT,
        chat(100, 10, 1010, cache_read_input_tokens=900),
        Usage(100, 900, output=10),
    ),
    "more-cached-than-prompt": (
        CHAT, chat(100, prompt_tokens_details={"cached_tokens": 900}), Usage(100, 900, output=10)
    ),
    "little-cache-outside": (
        CHAT, chat(100, 10, 160, cache_read_input_tokens=50), Usage(100, 50, output=10)
    ),
    "names-of-the-other-api": (
        CHAT, {"input_tokens": 1000, "output_tokens": 10}, Usage(1000, output=10)
    ),
    "text": (CHAT, chat("1000", "10", "1010"), Usage(1000, output=10)),
    "floats": (CHAT, chat(1000.0, 10.0), Usage(1000, output=10)),
    "details-that-are-none": (
        CHAT, chat(prompt_tokens_details=[1], completion_tokens_details=NAN), Usage(1000, output=10)
    ),
    "nan-in-the-total": (CHAT, chat(total=NAN), Usage(1000, output=10)),
    "prompt-alone": (CHAT, {"prompt_tokens": 8, "total_tokens": 8}, Usage(8)),
    "output-and-total": (CHAT, {"completion_tokens": 10, "total_tokens": 1010},
                         Usage(1000, output=10)),
    "responses": (
        RESPONSES,
        {"input_tokens": 1000, "output_tokens": 510, "total_tokens": 1510,
         "input_tokens_details": {"cached_tokens": 900},
         "output_tokens_details": {"reasoning_tokens": 500}},
        Usage(100, 900, output=510, reasoning=500),
    ),
    "anthropic": (
        MESSAGES,
        {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 900,
         "cache_creation_input_tokens": 50,
         "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}},
        Usage(100, 900, 50, 30, 10),
    ),
    "anthropic-parts-alone": (
        MESSAGES,
        {"input_tokens": 100, "output_tokens": 10,
         "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}},
        Usage(100, 0, 50, 30, 10),
    ),
    "messages-of-an-openai-proxy": (MESSAGES, chat(total=1010), Usage(1000, output=10)),
    "gemini": (
        GEMINI,
        {"promptTokenCount": 1000, "cachedContentTokenCount": 900, "candidatesTokenCount": 10,
         "thoughtsTokenCount": 500, "totalTokenCount": 1510},
        Usage(100, 900, output=510, reasoning=500),
    ),
    "gemini-without-an-answer": (GEMINI, {"promptTokenCount": 7, "totalTokenCount": 7}, Usage(7)),
    "gemini-thoughts-in-the-total": (
        GEMINI,
        {"promptTokenCount": 7, "candidatesTokenCount": 20, "totalTokenCount": 300},
        Usage(7, output=293, reasoning=273),
    ),
}  # fmt: skip

UNCOUNTED = {
    "nan": (CHAT, chat(NAN, 10)),
    "nan-output": (CHAT, chat(1000, NAN)),
    "infinite": (CHAT, chat(float("inf"), 10)),
    "negative": (CHAT, chat(-1, 10)),
    "truth": (CHAT, chat(True, 10)),
    "words": (CHAT, chat("many", "few")),
    "huge": (CHAT, chat(10**400, 10)),
    "nulls": (CHAT, {"prompt_tokens": None, "completion_tokens": None}),
    "list": (CHAT, chat([1], [2])),
    "output-alone": (CHAT, {"completion_tokens": 10}),
    "nothing-we-know": (CHAT, {"queue_time": 1}),
    "responses-nan": (RESPONSES, {"input_tokens": NAN, "output_tokens": 1}),
    "anthropic-nan": (MESSAGES, {"input_tokens": 1, "output_tokens": NAN}),
    "gemini-nan": (GEMINI, {"promptTokenCount": NAN, "candidatesTokenCount": 1}),
}


@pytest.mark.parametrize("form", [*COUNTED])
def test_each_form_is_counted_right(form: str) -> None:
    protocol, told, counted = COUNTED[form]
    assert usage_forms.read(protocol, told) == counted


@pytest.mark.parametrize("form", [*UNCOUNTED])
def test_what_is_no_count_is_uncounted(form: str) -> None:
    protocol, told = UNCOUNTED[form]
    assert usage_forms.read(protocol, told) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
NAMES = st.sampled_from(sorted({name for _, told, _ in COUNTED.values() for name in told}))


@given(st.sampled_from(Protocol), st.dictionaries(NAMES, VALUES))
def test_no_form_at_all_raises(protocol: Protocol, told: dict[str, Any]) -> None:
    found = usage_forms.read(protocol, told)
    assert found is None or min(found.as_dict().values()) >= 0


def streamed(*events: dict[str, Any], end: str = "\n\n") -> Usage | None:
    reader = Reader(CHAT, is_stream=True)
    for event in events:
        reader.feed(f"data: {json.dumps(event)}{end}".encode())
    return reader.usage


def test_streams_tell_running_totals_or_once_and_in_several_places() -> None:
    ten = Usage(1000, output=10)
    totals = [{"choices": [], "usage": chat(1000, n, 1000 + n)} for n in (1, 5, 10)]
    assert streamed(*totals) == ten
    assert streamed(*totals, {"choices": [], "usage": chat(0, 0, 0)}) == ten
    assert streamed(*totals, {"choices": [], "usage": None}) == ten
    assert streamed({"choices": [{"delta": {}, "usage": chat()}]}) == ten  # Moonshot
    assert streamed({"choices": [], "x_groq": {"usage": chat()}}) == ten  # Groq
    assert streamed({"choices": [], "usage": chat()}, end="\r\n\r\n") == ten
    assert streamed({"choices": [], "usage": [1, 2]}) is None
    assert streamed({"choices": []}) is None


@contextmanager
def provider(answer: bytes, kind: str) -> Iterator[str]:
    """A real endpoint that gives everybody the same answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    ("usage", "counts", "uncounted"),
    [
        (chat(NAN, 10), {"input": 0, "output": 0}, 1),
        (chat(10**400, 10), {"input": 0, "output": 0}, 1),
        ([1, 2], {"input": 0, "output": 0}, 1),
        (None, {"input": 0, "output": 0}, 1),
        (
            chat(total=1510, cost=NAN, completion_tokens_details={"reasoning_tokens": 500}),
            {"input": 1000, "output": 510, "reasoning": 500},
            0,
        ),
    ],
)
def test_an_agent_gets_its_answer_at_once_whatever_the_usage_is(
    usage: Any, counts: dict[str, int], uncounted: int, is_stream: bool, tmp_path: Path
) -> None:
    choice = {"index": 0, "message": {"content": "hi"}, "delta": {"content": "hi"}}
    body = json.dumps({"id": "x", "choices": [choice], "usage": usage}).encode()
    if is_stream:
        body = b"data: " + body + b"\r\n\r\ndata: [DONE]\r\n\r\n"
    kind = "text/event-stream" if is_stream else "application/json"
    with provider(body, kind) as url:
        route = Route(
            model="own/m", upstream="m", provider="own", protocols=(CHAT,), places=(Place(url=url),)
        )
        config = Config(routes=(route,), patience=QUICK)
        client = ensure(tmp_path / "state", config, tmp_path / "calls.jsonl", {})
        try:
            opened = client.open("trial", "own/m")
            asked = {"model": "m", "stream": is_stream, "messages": [{"role": "user"}]}
            request = urllib.request.Request(
                f"{opened.urls['openai']}/chat/completions",
                json.dumps(asked).encode(),
                {"authorization": f"Bearer {opened.token}", "content-type": "application/json"},
            )
            began = time.monotonic()
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert b"hi" in answer.read()
            assert time.monotonic() - began < 4
            total = client.trial("trial")
            assert (total["usage"], total["uncounted_answers"]) == (counts, uncounted)
            assert total["failed_calls"] == 0
        finally:
            client.stop()

"""An agent cannot steer where a translated call goes, with which key, or what this host fetches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from gateways import KEY, QUICK, scripted_route

from benchflow.gateway.__main__ import take_keys
from benchflow.gateway.client import GatewayClient, ensure
from benchflow.gateway.config import Config, Place, Route
from benchflow.gateway.translation.litellm_allowlist import translatable
from benchflow.model_apis.protocols import Protocol
from benchflow.scripted_model import Fault, Policy, ScriptedModel, Turn

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


OTHER = "another-providers-key-1234567890"
POLICIES = {
    "good": Policy(turns=(Turn(run="ls"), Turn(say="The end."))),
    "bad": Policy(turns=(Turn(run="ls", fault=Fault(kind="status", status=400, times=99)),)),
}
QUESTION = [{"role": "user", "content": "x"}]
CHAT_TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
#: The one that reaches the model's own keys: LiteLLM plays the advisor for models that know none.
ADVISOR = {"type": "advisor_20260301", "name": "advisor", "model": "openai/other"}
BASH = {"name": "bash", "input_schema": {"type": "object", "properties": {}}}


class Evil:
    """A server that writes down what it is asked."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.heard: list[str] = []


@contextmanager
def listening() -> Iterator[Evil]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            evil.heard.append(f"{self.path} {self.headers.as_string()}")
            self.send_error(400)

        do_GET = do_POST

        def log_message(self, *given: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        evil = Evil(server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield evil
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def evil() -> Iterator[Evil]:
    with listening() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, evil: Evil) -> Iterator[GatewayClient]:
    """`scripted/…` speaks Anthropic's protocol; `hosted_vllm/good` LiteLLM calls itself."""
    folder: Path = tmp_path_factory.mktemp("steering")
    with ScriptedModel.start(POLICIES, key=KEY) as model:
        routes = [
            scripted_route(model.url, name, protocols=(Protocol.MESSAGES,)) for name in POLICIES
        ]
        routes.append(
            Route(
                model="hosted_vllm/good",
                upstream="good",
                provider="hosted_vllm",
                protocols=(),
                places=(Place(url="", key_env="THE_KEY"),),
            )
        )
        environment = {
            "THE_KEY": KEY,
            "HOSTED_VLLM_API_BASE": f"{model.url}/v1",
            "OPENAI_API_KEY": OTHER,
            "OPENAI_BASE_URL": evil.url,
        }
        config = Config(routes=tuple(routes), patience=QUICK)
        client = ensure(folder / "state", config, folder / "calls.jsonl", environment)
        try:
            yield client
        finally:
            client.stop()


def ask(client: GatewayClient, model: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    opened = client.open(f"t-{model}-{path}", model)
    asked = urllib.request.Request(
        f"{client.url}{path}",
        data=json.dumps({"model": "m", **body}).encode(),
        headers={"Authorization": f"Bearer {opened.token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(asked, timeout=600) as answer:
            return int(answer.status), json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def steering(url: str) -> list[dict[str, Any]]:
    elsewhere = {"model": "openai/x", "api_base": url, "api_key": None}
    return [
        {"base_url": url},
        {"api_base": url},
        {"fallbacks": [elsewhere]},
        {"model_list": [elsewhere]},
        {"custom_llm_provider": "openai", "base_url": url, "api_version": "1"},
        {"mock_response": "mocked"},
        {"headers": {"x-api-key": "mine"}, "extra_body": {"model": "other"}},
        {"callbacks": ["langfuse"], "langfuse_host": url, "metadata": {"langfuse_host": url}},
        {"litellm_credential_name": "x", "litellm_params": {"api_base": url}},
    ]


@pytest.mark.parametrize("number", range(len(steering(""))))
@pytest.mark.parametrize("model", ["scripted/good", "hosted_vllm/good"])
def test_no_field_of_a_call_says_where_it_goes(
    gateway: GatewayClient, evil: Evil, model: str, number: int
) -> None:
    body = {"messages": QUESTION, "tools": [CHAT_TOOL], **steering(evil.url)[number]}
    status, answer = ask(gateway, model, "/v1/chat/completions", body)
    assert status == 200, answer
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "bash"
    assert evil.heard == []


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_a_call_that_fails_is_not_made_elsewhere(
    gateway: GatewayClient, evil: Evil, path: str
) -> None:
    fallbacks = [{"model": "openai/x", "api_base": evil.url, "api_key": None}]
    body = {"messages": QUESTION, "input": QUESTION, "tools": [CHAT_TOOL], "fallbacks": fallbacks}
    if path == "/v1/responses":
        body["tools"] = [{"type": "function", "name": "bash", "parameters": {"type": "object"}}]
    assert ask(gateway, "scripted/bad", path, body)[0] == 400
    assert evil.heard == []


def test_no_tool_makes_the_gateway_call_another_model(gateway: GatewayClient, evil: Evil) -> None:
    """The scripted model calls the one tool that runs commands, which is named as an advisor is."""
    body = {"messages": QUESTION, "max_tokens": 99, "tools": [ADVISOR, BASH]}
    status, answer = ask(gateway, "hosted_vllm/good", "/v1/messages", body)
    assert status == 200, answer
    assert [block["name"] for block in answer["content"] if block["type"] == "tool_use"] == ["bash"]
    assert evil.heard == []


@pytest.mark.parametrize("kind", ["mcp", "file_search", "advisor_20260301", 7, None])
def test_tools_that_the_agent_does_not_run_are_dropped(kind: object) -> None:
    tool = {"type": kind, "server_url": "litellm_proxy", "vector_store_ids": ["x"], "model": "y"}
    for protocol in (Protocol.CHAT, Protocol.RESPONSES, Protocol.MESSAGES):
        body = {"messages": QUESTION, "input": "x", "max_tokens": 9, "tools": [tool, 3]}
        assert "tools" not in translatable(protocol, body)
        group = {"type": "namespace", "name": "n", "tools": [tool, {"type": "function"}]}
        kept = translatable(protocol, body | {"tools": [group]})["tools"]
        assert kept == [group | {"tools": [{"type": "function"}]}]


def test_half_a_surrogate_pair_is_translated(gateway: GatewayClient) -> None:
    body = {"messages": [{"role": "user", "content": "\ud83d"}], "tools": [CHAT_TOOL]}
    assert ask(gateway, "scripted/good", "/v1/chat/completions", body)[0] == 200


def test_a_call_without_a_question_is_the_agents_fault(gateway: GatewayClient) -> None:
    status, answer = ask(gateway, "hosted_vllm/good", "/v1/messages", {"messages": QUESTION})
    assert (status, answer["error"]["message"]) == (400, "the request has no max_tokens")
    assert gateway.trial("t-hosted_vllm/good-/v1/messages")["failing"] == 0


def test_keys_that_no_route_names_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    others = ["OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "COHERE_API_KEY"]
    for name in others:
        monkeypatch.setenv(name, OTHER)
    monkeypatch.setenv("THE_KEY", KEY)
    assert take_keys(Config(routes=(scripted_route("", "m"),))) == {"THE_KEY": KEY}
    assert not [name for name in others if name in os.environ]


def test_a_provider_whose_key_only_litellm_knows_by_name_keeps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    route = Route(
        model="bedrock/x", upstream="x", provider="bedrock", protocols=(), places=(Place(url=""),)
    )
    assert take_keys(Config(routes=(route,))) == {}
    assert "OPENAI_API_KEY" not in os.environ
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == KEY


_FETCH = """
import sys
from benchflow.gateway.translation.litellm_bridge import _load
litellm = _load()
from litellm.litellm_core_utils import url_utils
try:
    url_utils.safe_get(litellm.module_level_client, sys.argv[1])
except url_utils.SSRFError as error:
    print(error)
"""


def test_litellm_downloads_nothing() -> None:
    public = "http://192.0.2.1/image.png"  # RFC 5737: of nobody
    done = subprocess.run(
        [sys.executable, "-c", _FETCH, public], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.strip() == "the gateway fetches nothing for an agent", done.stderr[-2000:]


_WALL = """
import socket, sys, threading
from benchflow.gateway.translation import connect_guard as wall
home, other = (("127.0.0.1", int(port)) for port in sys.argv[1:])
wall.build(*home)
def connect(where):
    try:
        socket.create_connection(where, timeout=5).close()
        print("reached", end=" ")
    except PermissionError as error:
        print("stopped", end=" ")
connect(other)
for where in (home, other):
    each = threading.Thread(target=connect, args=(where,)); each.start(); each.join()
"""


def test_the_wall_stops_other_threads_alone(evil: Evil) -> None:
    with listening() as home:
        ports = [each.url.rpartition(":")[2] for each in (home, evil)]
        done = subprocess.run(
            [sys.executable, "-c", _WALL, *ports], capture_output=True, text=True, timeout=60
        )
    assert done.stdout.split() == ["reached", "reached", "stopped"], done.stderr[-2000:]

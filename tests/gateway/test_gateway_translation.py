"""Every agent with every model: where the protocols differ, LiteLLM translates, and nothing is
counted twice or lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateways import KEY, PROTOCOLS, QUICK, scripted_route
from model_clients import TALKS, refused

from benchflow.gateway.client import GatewayClient, ensure
from benchflow.gateway.config import Budget, Config
from benchflow.model_apis.protocols import Protocol
from benchflow.scripted_model import Fault, Policy, ScriptedModel, Tokens, Turn

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


TOKENS = Tokens(input=700, output=31)
#: No provider speaks OpenAI's responses alone.
NATIVES = ("openai-chat", "anthropic", "gemini")
PAIRS = [(agent, native) for agent in PROTOCOLS for native in NATIVES if agent != native]


def policies() -> dict[str, Policy]:
    played = (Turn(run="ls", say="Look."), Turn(say="The end."))
    down = Turn(run="ls", fault=Fault(kind="status", status=400, times=9, message="not so"))
    found = {f"{n}-good": Policy(usage=TOKENS, turns=played) for n in NATIVES}
    return found | {f"{n}-bad": Policy(turns=(down,)) for n in NATIVES}


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[GatewayClient, ScriptedModel]]:
    folder: Path = tmp_path_factory.mktemp("translating")
    with ScriptedModel.start(policies(), key=KEY) as model:
        routes = []
        for name in policies():
            native = Protocol(name.rpartition("-")[0])
            url = f"{model.url}/v1" if native is Protocol.CHAT else model.url
            routes.append(scripted_route(url, name, protocols=(native,)))
        config = Config(routes=tuple(routes), patience=QUICK, budget=Budget(turns=4))
        client = ensure(folder / "state", config, folder / "calls.jsonl", {"THE_KEY": KEY})
        try:
            yield client, model
        finally:
            client.stop()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("agent", "native"), PAIRS)
def test_an_agent_of_one_protocol_uses_a_model_of_another(
    both: tuple[GatewayClient, ScriptedModel], agent: str, native: str, stream: bool
) -> None:
    client, model = both
    trial = f"{agent}-{native}-{stream}"
    opened = client.open(trial, f"scripted/{native}-good")
    talk = TALKS[agent](opened.urls, opened.token, native)
    first = talk.ask("x", stream=stream)
    assert first.command["command"] == "ls"
    talk.result(first, "a file")
    assert "The end." in talk.ask(stream=stream).text
    totals, truth = client.trial(trial), model.totals()[trial]
    assert (totals["turns"], truth.answers) == (2, 2)
    assert totals["usage"] == truth.usage.as_dict() == {"input": 1400, "output": 62}


@pytest.mark.parametrize(("agent", "native"), PAIRS)
def test_what_the_provider_refuses_is_said_in_the_agents_protocol(
    both: tuple[GatewayClient, ScriptedModel], agent: str, native: str
) -> None:
    client, _ = both
    opened = client.open(f"bad-{agent}-{native}", f"scripted/{native}-bad")
    with refused(400) as errors:
        TALKS[agent](opened.urls, opened.token, native).ask("x")
    assert "not so" in str(errors[0])

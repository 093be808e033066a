"""The scripted model keeps its script over every protocol, as the providers' own clients see it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest
from model_clients import TALKS, Talk, refused

from benchflow.model_apis.usage import Usage
from benchflow.scripted_model import Fault, Policy, ScriptedModel, Tokens, Turn, of_commands

FIRST = Tokens(input=700, cache_read=200, output=31, reasoning=11)
FAULTS: dict[str, Fault] = {
    "busy": Fault(kind="status", status=429, times=2, retry_after=0.1),
    "down": Fault(kind="status", status=503),
    "cut": Fault(kind="cut"),
    "overflow": Fault(kind="context-overflow"),
    "refusal": Fault(kind="refusal", message="No."),
    "malformed": Fault(kind="malformed"),
    "no-usage": Fault(kind="no-usage"),
    "slow": Fault(kind="slow", seconds=0.5),
}


def _policies() -> dict[str, Policy]:
    policies = {
        "two": Policy(
            turns=(
                Turn(run="make 'it'", say="Building.", usage=FIRST),
                Turn(run="test -f it", until="^ready$", repeat=5),
                Turn(say="Finished, I think."),
            )
        ),
        "no-tools": Policy(tool_calls=False, turns=(Turn(say="hm"),)),
    }
    for name, fault in FAULTS.items():
        policies[name] = Policy(turns=(Turn(run="true", say="A word.", fault=fault), Turn(say=".")))
    return policies


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.start(_policies()) as running:
        yield running


@pytest.fixture(scope="module")
def locked() -> Iterator[ScriptedModel]:
    with ScriptedModel.start({"m": of_commands(["true"])}, key="right") as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each client reads all that the world trusts when it starts, and none here has use for it."""
    first, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(first + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(params=TALKS)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


_callers = itertools.count()


def talk(model: ScriptedModel, protocol: str, name: str, tool: str = "bash") -> Talk:
    """A conversation of a new caller: faults are counted for each."""
    return TALKS[protocol](model.base_urls, f"caller-{next(_callers)}", name, tool)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.needs("time")
def test_a_policy_is_played_to_its_end(model: ScriptedModel, protocol: str, stream: bool) -> None:
    agent = talk(model, protocol, "two")
    first = agent.ask("Please make it.", stream=stream)
    assert first.command == {"command": "make 'it'", "description": "scripted"}
    assert "Building." in first.text
    assert first.usage == Usage(input=700, cache_read=200, output=31, reasoning=_told(protocol))
    agent.result(first, "made\n")
    for _ in range(2):
        again = agent.ask(stream=stream)
        assert again.command["command"] == "test -f it"
        agent.result(again, "not ready")
    once_more = agent.ask(stream=stream)
    agent.result(once_more, "ready")
    end = agent.ask(stream=stream)
    assert end.command is None
    assert "Finished, I think." in end.text
    assert end.usage == Usage(input=1000, output=50)


def _told(protocol: str) -> int:
    return 0 if protocol == "anthropic" else 11  # that protocol does not tell reasoning apart


def test_a_conversation_that_starts_anew_is_played_anew(
    model: ScriptedModel, protocol: str
) -> None:
    for _ in range(2):
        assert talk(model, protocol, "two").ask("x").command["command"] == "make 'it'"


def test_two_identical_requests_get_identical_answers(model: ScriptedModel, protocol: str) -> None:
    replies = [talk(model, protocol, "two").ask("x") for _ in range(2)]
    assert replies[0].call_id == replies[1].call_id != ""
    assert replies[0].text == replies[1].text


@pytest.mark.parametrize(
    ("tool", "key"),
    [("Bash", "command"), ("run_shell_command", "command"), ("exec_command", "cmd")],
)
def test_each_agents_own_tool_is_used(model: ScriptedModel, tool: str, key: str) -> None:
    reply = talk(model, "openai-chat", "two", tool).ask("x")
    assert reply.command[key] == "make 'it'"


def test_a_tool_that_runs_nothing_is_named(model: ScriptedModel, protocol: str) -> None:
    with refused(400) as errors:
        talk(model, protocol, "two", "read_file").ask("x")
    assert "none of the tools offered (read_file) runs a shell command" in str(errors[0])


def test_a_question_on_the_side_does_not_move_the_script(
    model: ScriptedModel, protocol: str
) -> None:
    side = talk(model, protocol, "two").ask("A title, please.", tools=False)
    assert side.text == "ok"
    assert side.usage == Usage()


def test_a_wrong_key(locked: ScriptedModel, protocol: str) -> None:
    with refused(401):
        TALKS[protocol](locked.base_urls, "wrong", "m").ask("x")
    assert TALKS[protocol](locked.base_urls, "right", "m").ask("x").command


def test_an_unknown_model(model: ScriptedModel, protocol: str) -> None:
    with refused(404) as errors:
        talk(model, protocol, "nobody").ask("x")
    assert "nobody" in str(errors[0])


def test_a_model_without_tool_calls(model: ScriptedModel, protocol: str) -> None:
    with refused(400) as errors:
        talk(model, protocol, "no-tools").ask("x")
    assert "does not support tools" in str(errors[0])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_statuses_come_as_often_as_said(model: ScriptedModel, protocol: str, stream: bool) -> None:
    agent = talk(model, protocol, "busy")
    for question in ("x", ""):
        with refused(429):
            agent.ask(question, stream=stream)
    assert agent.ask(stream=stream).command["command"] == "true"
    down = talk(model, protocol, "down")
    with refused(503):
        down.ask("x", stream=stream)


def test_a_cut_stream_breaks_off_once(model: ScriptedModel, protocol: str) -> None:
    agent = talk(model, protocol, "cut")
    with pytest.raises(Exception, match=r"(?i)clos|incomplete|payload|peer|read|connection"):
        agent.ask("x", stream=True)
    assert agent.ask(stream=True).command["command"] == "true"


def test_a_context_that_overflowed(model: ScriptedModel, protocol: str) -> None:
    with refused(400) as errors:
        talk(model, protocol, "overflow").ask("x")
    assert any(word in str(errors[0]) for word in ("maximum", "exceeds"))


def test_a_refusal_is_said_as_the_protocol_says_it(model: ScriptedModel, protocol: str) -> None:
    reply = talk(model, protocol, "refusal").ask("x")
    assert reply.command is None
    finish = {"anthropic": "refusal", "gemini": "SAFETY"}.get(protocol)
    if finish:
        assert finish in str(reply.finish)
    else:
        assert "'No.'" in repr(reply.raw)


def test_a_malformed_call_is_made_once_and_then_made_well(
    model: ScriptedModel, protocol: str
) -> None:
    agent = talk(model, protocol, "malformed")
    broken = agent.ask("x")
    if protocol == "gemini":
        assert "MALFORMED_FUNCTION_CALL" in str(broken.finish)
    elif protocol == "anthropic":
        assert broken.command == {}
    else:
        assert isinstance(broken.command, str)
    if broken.call_id:
        agent.result(broken, "the arguments are not JSON")
    assert agent.ask("again").command["command"] == "true"


def test_an_answer_may_come_without_usage(model: ScriptedModel, protocol: str) -> None:
    if protocol == "anthropic":
        pytest.skip("the client does not accept a message without usage")
    usage = talk(model, protocol, "no-usage").ask("x").usage
    assert usage is None or usage == Usage(), "nothing was told, so nothing is counted"


def test_a_slow_answer_is_slow_once(model: ScriptedModel, protocol: str) -> None:
    started = time.monotonic()
    assert talk(model, protocol, "slow").ask("x").command
    assert time.monotonic() - started >= 0.5


def test_totals_are_the_truth() -> None:
    with ScriptedModel.start({"m": of_commands(["true"])}) as model:
        agent = TALKS["anthropic"](model.base_urls, "me", "m")
        agent.result(agent.ask("x"), "")
        agent.ask()
        truth = model.totals()["me"]
    assert truth.answers == 2
    assert truth.usage == Usage(input=2000, output=100)

"""Calls through the gateway, as the providers' own clients see them, and what is counted."""

from __future__ import annotations

import itertools
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from gateways import KEY, PROTOCOLS, Bench, running, scripted_route
from model_clients import TALKS, refused

from benchflow.errors import UsageError
from benchflow.gateway.accounts.totals import replay
from benchflow.gateway.config import Config
from benchflow.model_apis.usage import Usage
from benchflow.run.models import job_gateway
from benchflow.scripted_model import Fault, Policy, ScriptedModel, Tokens, Turn, of_commands

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


TOKENS = Tokens(input=700, cache_read=200, output=31)
_trials = itertools.count()


def policies() -> dict[str, Policy]:
    def once(fault: Fault) -> Policy:
        return Policy(usage=TOKENS, turns=(Turn(run="true", fault=fault), Turn(say="End.")))

    return {
        "plain": Policy(usage=TOKENS, turns=(Turn(run="ls", say="Look."), Turn(say="End."))),
        "busy": once(Fault(kind="status", status=429, times=2, retry_after=0.2)),
        "down": once(Fault(kind="status", status=503, times=1)),
        "cut": once(Fault(kind="cut", events=1)),
        "overflow": once(Fault(kind="context-overflow")),
        "no-usage": once(Fault(kind="no-usage")),
        "hang": once(Fault(kind="hang")),
        "no-tools": Policy(tool_calls=False, turns=(Turn(say="hm"),)),
    }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running(tmp_path_factory.mktemp("gateway"), policies()) as made:
        yield made


@pytest.fixture
def trial() -> str:
    return f"trial-{next(_trials)}"


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_conversation_is_passed_through_and_counted(
    bench: Bench, trial: str, protocol: str, stream: bool
) -> None:
    agent = bench.talk(trial, protocol)
    first = agent.ask("x", stream=stream)
    assert first.command["command"] == "ls"
    assert first.usage == Usage(input=700, cache_read=200, output=31)
    agent.result(first, "a file")
    assert "End." in agent.ask(stream=stream).text
    totals = bench.client.trial(trial)
    assert totals["usage"] == {"input": 1400, "cache_read": 400, "output": 62}
    assert totals["turns"] == 2
    assert totals["usd"] == pytest.approx(1400e-6 + 400e-7 + 62e-5, abs=1e-12)
    assert bench.model.totals()[trial].usage == Usage(input=1400, cache_read=400, output=62)


def test_a_stream_that_did_not_ask_for_counts_is_counted_all_the_same(
    bench: Bench, trial: str
) -> None:
    import openai

    opened = bench.client.open(trial, "scripted/plain")
    with openai.OpenAI(base_url=opened.urls["openai"], api_key=opened.token) as client:
        chunks = list(
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}], stream=True
            )
        )
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)
    assert bench.records()[-1]["usage"] == {"input": 0, "output": 0}  # an answer on the side


def test_a_wrong_token_and_a_closed_trial_are_refused(
    bench: Bench, trial: str, protocol: str
) -> None:
    opened = bench.client.open(trial, "scripted/plain")
    with refused(401):
        TALKS[protocol](opened.urls, "bf-" + "0" * 40, "m").ask("x")
    with refused(401):
        TALKS[protocol](opened.urls, KEY, "m").ask("x")
    assert TALKS[protocol](opened.urls, opened.token, "m").ask("x").command
    bench.client.close(trial)
    with refused(401):
        TALKS[protocol](opened.urls, opened.token, "m").ask("x")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", ["busy", "down"])
def test_passing_failures_are_ridden_out(
    bench: Bench, trial: str, protocol: str, stream: bool, fault: str
) -> None:
    agent = bench.talk(trial, protocol, f"scripted/{fault}")
    assert agent.ask("x", stream=stream).command["command"] == "true"
    last = bench.records()[-1]
    assert last["tries"] == (3 if fault == "busy" else 2)
    assert bench.client.trial(trial)["turns"] == 1
    if fault == "busy":
        assert last["seconds"] >= 0.4  # Retry-After, twice


def test_a_cut_stream_is_cut_for_the_agent_too_and_counted_once(
    bench: Bench, trial: str, protocol: str
) -> None:
    agent = bench.talk(trial, protocol, "scripted/cut")
    with pytest.raises(Exception, match=r"(?i)clos|incomplete|payload|peer|read|connection"):
        agent.ask("x", stream=True)
    assert agent.ask(stream=True).command["command"] == "true"
    totals = bench.client.trial(trial)
    assert totals["turns"] == 1
    assert totals["failed_calls"] == 1
    truth = bench.model.totals()[trial].usage
    assert totals["usage"] == truth.as_dict()


def test_a_whole_answer_that_broke_off_is_asked_for_anew(
    bench: Bench, trial: str, protocol: str
) -> None:
    agent = bench.talk(trial, protocol, "scripted/cut")
    assert agent.ask("x").command["command"] == "true"
    assert bench.records()[-1]["tries"] == 2


def test_what_the_provider_refuses_is_passed_on(bench: Bench, trial: str, protocol: str) -> None:
    with refused(400) as errors:
        bench.talk(trial, protocol, "scripted/overflow").ask("x")
    assert any(word in str(errors[0]) for word in ("maximum", "exceeds"))
    assert bench.records()[-1]["outcome"] == "refused"
    with refused(400) as errors:
        bench.talk(f"{trial}-b", protocol, "scripted/no-tools").ask("x")
    assert "does not support tools" in str(errors[0])


def test_a_provider_that_hangs_is_given_up_and_asked_again(
    bench: Bench, trial: str, protocol: str
) -> None:
    assert bench.talk(trial, protocol, "scripted/hang").ask("x").command
    assert bench.records()[-1]["tries"] == 2


def test_an_answer_without_counts_is_named(bench: Bench, trial: str) -> None:
    bench.talk(trial, "openai-chat", "scripted/no-usage").ask("x")
    totals = bench.client.trial(trial)
    assert totals["uncounted_answers"] == 1
    assert totals["tokens"] == 0


def test_a_model_that_the_gateway_does_not_have(bench: Bench, trial: str) -> None:
    from benchflow.errors import UsageError

    with pytest.raises(UsageError, match="no model 'scripted/other'") as raised:
        bench.client.open(trial, "scripted/other")
    assert "scripted/plain" in raised.value.hint


def test_the_ledger_alone_gives_the_same_totals(bench: Bench, trial: str) -> None:
    bench.talk(trial, "anthropic").ask("x")
    live = bench.client.trial(trial)
    tally = replay(bench.ledger).tallies[trial]
    assert tally.summary() == {k: v for k, v in live.items() if k not in ("moved", "under_way")}


def test_counting_tokens_is_free(bench: Bench, trial: str) -> None:
    import anthropic

    opened = bench.client.open(trial, "scripted/plain")
    with anthropic.Anthropic(base_url=opened.urls["anthropic"], api_key=opened.token) as client:
        counted = client.messages.count_tokens(
            model="m", messages=[{"role": "user", "content": "x" * 400}]
        )
    assert counted.input_tokens == 100
    assert bench.client.trial(trial)["turns"] == 0


def test_no_key_is_in_any_file(bench: Bench) -> None:
    for path in bench.folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_its_own_user_cannot_read_the_gateways_environment(bench: Bench) -> None:
    with pytest.raises(PermissionError):
        Path(f"/proc/{bench.client.pid}/environ").read_bytes()


def test_a_key_that_was_corrected_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = tmp_path / "jobs/j"
    with (
        mock.patch.dict(os.environ),
        ScriptedModel.start({"m": of_commands(["ls"])}, key=KEY) as model,
    ):
        config = Config(routes=(scripted_route(model.url, "m"),))
        job_gateway.prepare(job, config)
        pids = []
        for key, answer in (("wrong", 401), (KEY, 200), (KEY, 200), ("", 200)):
            monkeypatch.setattr(job_gateway, "_taken", {})
            os.environ["THE_KEY"] = key
            found = job_gateway.again(job, lambda config: config)
            assert found is not None
            pids.append(found.client.pid)
            opened = found.client.open("t", "scripted/m")
            asked = urllib.request.Request(
                f"{found.client.url}/v1/chat/completions",
                data=b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}',
                headers={"Authorization": f"Bearer {opened.token}"},
            )
            try:
                with urllib.request.urlopen(asked, timeout=60) as told:
                    assert told.status == answer
            except urllib.error.HTTPError as error:
                with error:
                    assert error.code == answer
        assert len({*pids}) == 2
        monkeypatch.setattr(job_gateway, "_taken", {})
        with pytest.raises(UsageError, match="THE_KEY is not set"):
            job_gateway.again(job, lambda config: config.model_copy(update={"linger": 1.0}))
        found.client.stop()

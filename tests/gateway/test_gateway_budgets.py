"""Budgets end a trial, in the agent's protocol, once and for all; totals outlive the gateway."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from gateways import PROTOCOLS, running
from model_clients import TALKS, refused, status_of

from benchflow.base.process_identity import Process
from benchflow.errors import UsageError
from benchflow.gateway.accounts.totals import fold, replay
from benchflow.gateway.client import find
from benchflow.gateway.config import Budget, Limits, Patience
from benchflow.scripted_model import Fault, Policy, Tokens, Turn, of_commands
from benchflow.scripted_model.policy import Pace

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


TOKENS = Tokens(input=700, output=30)
LOOP = Policy(usage=TOKENS, turns=tuple(Turn(run="true") for _ in range(50)))
SPENT = {"anthropic": 402, "openai-chat": 403, "openai-responses": 403, "gemini": 403}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_turn_budget_is_told_in_the_agents_protocol(tmp_path: Path, protocol: str) -> None:
    with running(tmp_path, {"loop": LOOP}, budget=Budget(turns=2)) as bench:
        agent = bench.talk("t", protocol)
        for _ in range(2):
            agent.result(agent.ask("x"), "")
        for _ in range(2):
            with refused(SPENT[protocol]) as errors:
                agent.ask()
            assert "budget exhausted: this trial may use 2 turns" in str(errors[0])
        assert bench.client.trial("t")["budget_exhausted"] == "turns"
        assert len(bench.records("exhausted")) == 1
        # Another trial of the same job has its own.
        assert bench.talk("u", protocol).ask("x").command


def test_time_in_which_a_trial_was_closed_is_none_of_its_minutes() -> None:
    def at(minute: int, event: str, **facts: object) -> dict[str, object]:
        return {"t": f"2026-01-01T10:{minute:02}:00+00:00", "event": event, "trial": "t", **facts}

    opened = {"model": "m", "budget": {"minutes": 8}}
    meter = fold(
        [
            at(0, "trial", **opened),
            at(1, "begin", n=1),
            at(4, "call", n=1, outcome="answered", usage=None, usd=None),
            at(30, "closed"),  # by whoever goes on with a trial that was cut off soon after 10:04
            at(31, "trial", **opened),
            at(32, "begin", n=2),
        ]
    )
    tally = meter.tallies["t"]
    now = datetime(2026, 1, 1, 10, 35, tzinfo=UTC).timestamp()
    assert tally.over(now) is None  # 10:01 to 10:04 and 10:31 to 10:35: seven minutes
    assert tally.over(now + 61) == ("minutes", pytest.approx(8 + 1 / 60), 8.0)


@pytest.mark.parametrize(
    ("budget", "turns"),
    [(Budget(tokens=1500), 3), (Budget(usd=0.0025), 3), (Budget(minutes=0.005), 1)],
    ids=["tokens", "usd", "minutes"],
)
def test_other_budgets(tmp_path: Path, budget: Budget, turns: int) -> None:
    with running(tmp_path, {"loop": LOOP}, budget=budget) as bench:
        agent = bench.talk("t", "anthropic")
        with refused(402):
            for _ in range(10):
                agent.result(agent.ask("x"), "")
                time.sleep(0.35)
        totals = bench.client.trial("t")
        assert totals["turns"] == turns
        assert totals["budget_exhausted"] in budget.model_dump(exclude_none=True)


def test_a_killed_gateway_goes_on_with_the_same_totals_tokens_and_budget(tmp_path: Path) -> None:
    with running(tmp_path, {"loop": LOOP}, budget=Budget(turns=4)) as bench:
        agent = bench.talk("t", "openai-chat")
        for _ in range(3):
            agent.result(agent.ask("x"), "")
        before = bench.client.trial("t")
        os.kill(bench.client.pid, signal.SIGKILL)
        assert bench.again().url
        again = bench.talk("t", "openai-chat")
        assert again.key == agent.key
        after = bench.client.trial("t")
        assert after["usage"] == before["usage"] == {"input": 2100, "output": 90}
        again.history = agent.history
        again.result(again.ask(), "")
        with refused(403):
            again.ask()
        assert bench.client.trial("t")["usage"] == bench.model.totals()["t"].usage.as_dict()


def test_a_torn_line_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    with running(tmp_path, {"loop": LOOP}) as bench:
        bench.talk("t", "anthropic").ask("x")
        bench.client.stop()
        whole = bench.ledger.read_bytes()
        bench.ledger.write_bytes(whole + whole.splitlines()[-1][:40])
        bench.again()
        assert bench.client.totals()["torn"] == [{"line": 4, "why": "cut off"}]
        bench.talk("t", "anthropic").ask("y")
        meter = replay(bench.ledger)
        assert [(torn.line, torn.why) for torn in meter.torn] == [(4, "not JSON")]
        assert meter.tallies["t"].turns == 2


def test_a_call_that_had_no_end_is_named(tmp_path: Path) -> None:
    hang = Policy(turns=(Turn(run="true", fault=Fault(kind="hang", times=9)),))
    with running(tmp_path, {"hang": hang}, patience=Patience(silence=60)) as bench:
        agent = bench.talk("t", "anthropic")
        caught: list[BaseException] = []

        def ask() -> None:
            try:
                agent.ask("x")
            except Exception as error:
                caught.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        end = time.monotonic() + 60
        while not bench.client.trial("t")["under_way"]:
            assert asking.is_alive() and time.monotonic() < end, caught
            time.sleep(0.02)
        os.kill(bench.client.pid, signal.SIGKILL)
        asking.join(20)
        assert len(caught) == 1
        bench.again()
        assert bench.client.trial("t")["lost_calls"] == 1


def test_an_agent_that_is_killed_in_the_middle_is_counted_to_the_end(tmp_path: Path) -> None:
    import socket

    slow = Policy(usage=TOKENS, pace=Pace(between=0.1), turns=(Turn(say="word " * 40),))
    slow = slow.model_copy(update={"dialect": "tools"})
    with running(tmp_path, {"slow": slow}) as bench:
        opened = bench.client.open("t", "scripted/slow")
        body = json.dumps(
            {
                "model": "m",
                "stream": True,
                "max_tokens": 9,
                "messages": [{"role": "user", "content": "x"}],
                "tools": [{"name": "bash", "input_schema": {}}],
            }
        )
        host, _, port = opened.urls["anthropic"].removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as agent:
            head = (
                f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {opened.token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            agent.sendall(head.encode() + body.encode())
            assert agent.recv(100).startswith(b"HTTP/1.1 200")
        end = time.monotonic() + 10
        while bench.client.trial("t")["turns"] == 0 and time.monotonic() < end:
            time.sleep(0.05)
        assert bench.client.trial("t")["usage"] == {"input": 700, "output": 30}


def test_a_provider_that_is_down_is_not_the_agents_fault(tmp_path: Path) -> None:
    patience = Patience(seconds=0.3, shortest=0.05, longest=0.1, silence=1)
    with running(tmp_path, {"m": of_commands(["true"])}, patience=patience) as bench:
        bench.model.process.kill()
        bench.model.process.wait()
        with refused(503) as errors:
            bench.talk("t", "openai-chat").ask("x")
        assert "cannot be reached" in str(errors[0])
        totals = bench.client.trial("t")
        assert (totals["turns"], totals["failed_calls"], totals["failing"]) == (0, 1, 1)
        assert bench.records()[-1]["tries"] > 1


def test_a_key_that_the_provider_refuses(tmp_path: Path) -> None:
    with running(tmp_path, {"m": of_commands(["true"])}) as bench:
        os.kill(bench.client.pid, signal.SIGKILL)
        from benchflow.gateway.client import ensure

        bench.client = ensure(
            bench.folder / "state", bench.config, bench.ledger, {"THE_KEY": "another-key"}
        )
        with refused(401):
            bench.talk("t", "anthropic").ask("x")
        totals = bench.client.trial("t")
        assert totals["failing"] == 1
        assert totals["last_failure"] == "invalid API key"
        assert b"another-key" not in bench.ledger.read_bytes()


def test_bodies_are_kept_without_secrets(tmp_path: Path) -> None:
    with running(tmp_path, {"m": of_commands(["env"])}, bodies=True) as bench:
        agent = bench.talk("t", "anthropic")
        reply = agent.ask("hello")
        agent.result(reply, f"ANTHROPIC_API_KEY={agent.key}")
        agent.ask()
        record = bench.records()[-1]
        assert "hello" in json.dumps(record["request"])
        assert agent.key not in bench.ledger.read_text()
        assert "ANTHROPIC_API_KEY=[redacted]" in json.dumps(record["request"])


def test_calls_at_once_are_limited_for_the_whole_job(tmp_path: Path) -> None:
    slow = Policy(turns=(Turn(run="true", fault=Fault(kind="slow", seconds=0.4)),))
    with running(tmp_path, {"slow": slow}, limits=Limits(concurrent=2)) as bench:
        talks = [bench.talk(f"t{n}", "openai-chat") for n in range(6)]
        talks[0].ask("x")  # the client library is loaded
        started = time.monotonic()
        threads = [threading.Thread(target=talk.ask, args=("x",)) for talk in talks[1:]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - started >= 1.2  # five calls, two at once: three rounds


def test_a_gateway_that_nobody_needs_ends(tmp_path: Path) -> None:
    with running(tmp_path, {"m": of_commands(["true"])}) as bench:
        bench.client.stop()
        process = Process.of(bench.client.pid)
        assert process is None or not process.alive
        assert find(bench.folder / "state") is None
        bench.again()


def test_control_needs_the_secret(tmp_path: Path) -> None:
    import dataclasses

    from benchflow.errors import InfrastructureError

    with running(tmp_path, {"m": of_commands(["true"])}) as bench:
        stranger = dataclasses.replace(bench.client, secret="guess")
        with pytest.raises(InfrastructureError, match="wrong secret"):
            stranger.totals()
        with pytest.raises(UsageError, match="no model"):
            bench.client.open("t", "nothing")


def test_any_address_that_is_none_is_a_404(tmp_path: Path) -> None:
    with running(tmp_path, {"m": of_commands(["true"])}) as bench:
        opened = bench.client.open("t", "scripted/m")
        import openai

        with openai.OpenAI(base_url=opened.urls["openai"], api_key=opened.token) as client:
            try:
                client.embeddings.create(model="m", input="x")
            except openai.NotFoundError as error:
                assert status_of(error) == 404
            else:
                raise AssertionError("embeddings were answered")
            assert [model.id for model in client.models.list()] == ["scripted/m"]
        assert TALKS


def test_tokens_of_answers_count_for_the_minute(tmp_path: Path) -> None:
    """Two answers of 730 tokens fill a minute of 1,400; what was asked alone would not."""
    answered = threading.Event()
    with running(tmp_path, {"loop": LOOP}, limits=Limits(tpm=1400)) as bench:
        agent = bench.talk("t", "anthropic")

        def ask() -> None:
            with suppress(Exception):  # the gateway ends while it waits
                agent.result(agent.ask("x"), "")
                answered.set()

        for _ in range(2):
            ask()
        assert answered.is_set()
        answered.clear()
        third = threading.Thread(target=ask, daemon=True)
        third.start()
        assert not answered.wait(3)
        assert third.is_alive(), "it was refused, and does not wait"

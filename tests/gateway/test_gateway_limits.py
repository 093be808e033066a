"""What one trial may ask of its gateway at once, and what is not sent any more after a wait."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateways import PROTOCOLS, Bench, running
from harbor.job import Job
from harbor.models.trial.config import AgentConfig
from model_clients import refused

from benchflow.errors import InfrastructureError
from benchflow.gateway.accounts import ledger
from benchflow.gateway.accounts.trial_accounts import AT_ONCE
from benchflow.gateway.calls.provider_probe import CALLER
from benchflow.gateway.client import GatewayClient
from benchflow.gateway.config import Budget, Limits, Patience
from benchflow.gateway.doors.agent_api import MAX_BODY
from benchflow.results.jobs.faults import first_fault
from benchflow.run.models.job_gateway import Models
from benchflow.scripted_model import Closed, Fault, Policy, Turn

pytestmark = pytest.mark.needs("time")  # servers of ours are started for each test


SLOW = Policy(turns=(Turn(run="true", fault=Fault(kind="slow", seconds=6, times=999)),))


PATIENT = Patience(silence=120)
FUNCTION = {"name": "bash", "parameters": {"type": "object"}}
QUESTION = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "tools": [{"type": "function", "function": FUNCTION}],
}


def ask_at_once(bench: Bench, number: int) -> list[threading.Thread]:
    opened = bench.client.open("t", "scripted/m")
    asked = urllib.request.Request(
        f"{bench.client.url}/v1/chat/completions",
        data=json.dumps(QUESTION).encode(),
        headers={"Authorization": f"Bearer {opened.token}"},
    )

    def ask() -> None:
        with suppress(urllib.error.HTTPError), urllib.request.urlopen(asked, timeout=300) as answer:
            answer.read()

    threads = [threading.Thread(target=ask) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.02)


def answers(bench: Bench) -> int:
    found = bench.model.totals().get("t")
    return found.answers if found else 0


def test_a_budget_that_is_spent_while_calls_wait_stops_them(tmp_path: Path) -> None:
    budget, limits = Budget(turns=1), Limits(concurrent=1)
    with running(tmp_path, {"m": SLOW}, budget=budget, limits=limits, patience=PATIENT) as bench:
        threads = ask_at_once(bench, 5)
        until(lambda: bench.client.trial("t")["under_way"] == 5)
        for thread in threads:
            thread.join()
        assert answers(bench) == 1
        mine = [record for record in bench.records() if record["trial"] == "t"]
        assert [record["outcome"] for record in mine] == ["answered"] + ["refused"] * 4
        assert (mine[-1]["status"], mine[-1]["tries"]) == (403, 0)
        totals = bench.client.trial("t")
        assert (totals["turns"], totals["failing"], totals["under_way"]) == (1, 0, 0)


def test_no_more_calls_go_beyond_a_budget_than_are_with_the_provider(tmp_path: Path) -> None:
    with running(tmp_path, {"m": SLOW}, budget=Budget(turns=1), patience=PATIENT) as bench:
        for thread in ask_at_once(bench, AT_ONCE + 8):
            thread.join()
        assert 1 <= answers(bench) <= AT_ONCE


def test_a_trial_that_was_closed_meanwhile_is_not_paid_for(tmp_path: Path) -> None:
    with running(tmp_path, {"m": SLOW}, limits=Limits(concurrent=1), patience=PATIENT) as bench:
        threads = ask_at_once(bench, 3)
        until(lambda: bench.client.trial("t")["under_way"] == 3)
        bench.client.close("t")
        for thread in threads:
            thread.join()
        assert answers(bench) <= 1


def test_an_agent_that_is_gone_is_not_asked_for(tmp_path: Path) -> None:
    body = json.dumps(QUESTION).encode()
    with running(tmp_path, {"m": SLOW}, limits=Limits(concurrent=1), patience=PATIENT) as bench:
        threads = ask_at_once(bench, 1)
        until(lambda: bench.client.trial("t")["under_way"] == 1)
        opened = bench.client.open("gone", "scripted/m")
        port = int(bench.client.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as agent:
            agent.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                + f"Authorization: Bearer {opened.token}\r\n".encode()
                + f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            until(lambda: bench.client.trial("gone")["under_way"] == 1)
        for thread in threads:
            thread.join()
        until(lambda: bench.client.trial("gone")["under_way"] == 0)
        assert "gone" not in bench.model.totals()


def test_a_request_has_a_size(tmp_path: Path) -> None:
    with running(tmp_path, {"m": SLOW}, patience=PATIENT) as bench:
        with refused(400) as errors:
            bench.talk("t", "openai-chat").ask("x" * (MAX_BODY + 1))
        assert "larger than 64 MiB" in str(errors[0])


@pytest.mark.parametrize("status", [403, 404])
def test_what_is_missing_after_an_answer_is_the_requests_fault(tmp_path: Path, status: int) -> None:
    gone = Turn(run="true", fault=Fault(kind="status", status=status, times=9, message="no file"))
    with running(tmp_path, {"m": Policy(turns=(Turn(run="ls"), gone))}) as bench:
        agent = bench.talk("t", "anthropic")
        agent.result(agent.ask("x"), "")
        with refused(status):
            agent.ask()
        assert bench.records()[-1]["outcome"] == "refused"
        assert bench.client.trial("t")["failing"] == 0
        assert bench.model.totals()[CALLER].failures == 0, "asked plainly, it answered"
    with running(tmp_path / "b", {"m": Policy(turns=(gone,))}) as bench:
        with refused(status):
            bench.talk("t", "anthropic").ask("x")
        assert bench.client.trial("t")["failing"] == 1


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_account_that_is_closed_meanwhile_is_the_providers_fault(
    tmp_path: Path, status: int, protocol: str
) -> None:
    """The model refuses everything after one answer: a trial that ends so is an error."""
    policy = Policy(turns=(Turn(run="ls"),), closed=Closed(after=1, status=status))
    with running(tmp_path, {"m": policy}) as bench:
        agent = bench.talk("t", protocol)
        agent.result(agent.ask("x"), "")
        with refused(status):
            agent.ask()
        last = bench.records()[-1]
        assert (last["outcome"], last["status"]) == ("provider", status)
        assert f"and {status} to a call that names nothing but the model" in last["error"]
        trial = bench.client.trial("t")
        assert (trial["turns"], trial["failing"]) == (1, 1)


def test_a_complaint_that_quotes_a_request_is_not_about_money(tmp_path: Path) -> None:
    said = Fault(kind="status", status=400, times=9, message="no effort 'insufficient_quota'")
    with running(tmp_path, {"m": Policy(turns=(Turn(run="true", fault=said),))}) as bench:
        with refused(400):
            bench.talk("t", "openai-chat").ask("x")
        assert bench.client.trial("t")["failing"] == 0


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_half_a_surrogate_pair_is_passed_on_and_written_down(tmp_path: Path, path: str) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "\ud83d"}], "max_tokens": 9})
    with running(tmp_path, {"m": Policy(turns=(Turn(say="."),))}, bodies=True) as bench:
        opened = bench.client.open("t", "scripted/m")
        asked = urllib.request.Request(
            f"{bench.client.url}{path}",
            data=(body[:-1] + ', "model": "m", "stream": true}').encode(),
            headers={"Authorization": f"Bearer {opened.token}"},
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert answer.status == 200
            answer.read()
        (record,) = bench.records()
        assert record["request"]["messages"][0]["content"] == "\ud83d"


def test_a_line_that_found_no_room_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    book = ledger.Ledger(path)
    book.append("one")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (10, 0):
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, hard))
        try:
            with pytest.raises(InfrastructureError, match="the ledger cannot be written") as caught:
                book.append("two")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not isinstance(caught.value, OSError)
    book.append("three")
    book.close()
    found = [each if isinstance(each, ledger.Torn) else each["event"] for each in ledger.read(path)]
    assert found == ["one", ledger.Torn(2, "not JSON"), "three"]


@pytest.mark.skipif(os.geteuid() != 0, reason="the gateway's limits are changed from outside")
def test_a_full_disk_is_not_paid_for_again(tmp_path: Path) -> None:
    slow = Policy(turns=(Turn(run="true", fault=Fault(kind="slow", seconds=1)),))
    with running(tmp_path, {"m": slow}) as bench:
        agent = bench.talk("t", "openai-chat")

        def ask() -> None:
            with refused(500):
                agent.ask("x")

        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: bench.ledger.exists() and '"begin"' in bench.ledger.read_text())
        _, hard = resource.prlimit(bench.client.pid, resource.RLIMIT_FSIZE)
        size = bench.ledger.stat().st_size
        resource.prlimit(bench.client.pid, resource.RLIMIT_FSIZE, (size, hard))
        asking.join()
        assert answers(bench) == 1
        assert bench.client.trial("t")["under_way"] == 0
        with pytest.raises(InfrastructureError, match="cannot be written"):
            bench.client.close("t")
        resource.prlimit(bench.client.pid, resource.RLIMIT_FSIZE, (hard, hard))
        bench.client.close("t")


def test_a_gateway_that_breaks_down_is_infrastructure(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Broken(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(500, "Internal Server Error")

        def log_message(self, *given: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(InfrastructureError, match="500"):
            GatewayClient(f"http://127.0.0.1:{server.server_port}", 1, "s").totals()
        server.shutdown()


@pytest.mark.parametrize("path", ["benchflow.run.models.gateway_agent:a:B", "a:B"])
def test_a_trial_whose_gateway_is_gone_at_its_end_is_an_error(tmp_path: Path, path: str) -> None:
    ended: list[Callable[[Any], Awaitable[None]]] = []
    job = SimpleNamespace(on_trial_ended=ended.append)
    (tmp_path / "t").mkdir()
    agent = AgentConfig(import_path=path)
    config = SimpleNamespace(trials_dir=tmp_path, trial_name="t", agent=agent)
    with running(tmp_path / "gateway", {"m": SLOW}) as bench:
        bench.client.open("t", "scripted/m")
        Models(tmp_path, bench.client).attach(cast(Job, job))
        os.kill(bench.client.pid, signal.SIGKILL)
        time.sleep(0.2)
        with pytest.raises(InfrastructureError, match="does not answer"):
            asyncio.run(cast(Any, ended[0])(SimpleNamespace(config=config)))
        fault = first_fault(tmp_path / "t")
        assert (fault[0] if fault else None) == ("InfrastructureError" if path != "a:B" else None)
        bench.again()

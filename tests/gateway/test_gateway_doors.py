"""A sandbox reaches the gateway at its own loopback, and nothing else of the host."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gateways import KEY, Bench, running

from benchflow.errors import InfrastructureError
from benchflow.sandbox import Sandbox, debian
from benchflow.scripted_model import of_commands

pytestmark = pytest.mark.needs("sandbox")

_ASK = """
use IO::Socket::INET;
my ($port, $token, $path) = @ARGV;
my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port, Timeout => 5)
    or do { print "unreachable"; exit };
my $b = '{"model":"m","messages":[],"tools":[{"name":"bash","input_schema":{}}],"max_tokens":9}';
print $s "POST $path HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nx-api-key: $token\\r\\n",
    "Content-Length: ", length $b, "\\r\\n\\r\\n$b";
local $/; print <$s>;
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("doors")
    with running(folder, {"m": of_commands(["ls"])}, linger=30) as made:
        yield made


@pytest.fixture(scope="module", params=["none", "user"])
def box(request: pytest.FixtureRequest, bench: Bench) -> Iterator[Sandbox]:
    with Sandbox.start(debian("bookworm"), network=request.param) as made:
        yield made


def ask(box: Sandbox, token: str, url: str, path: str = "/v1/messages") -> str:
    port = url.rpartition(":")[2].split("/")[0]
    return box.exec(["perl", "-e", _ASK, port, token, path], timeout=30).text


def test_the_agent_reaches_its_model(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    assert opened.urls["anthropic"].startswith("http://127.0.0.1:")
    answer = ask(box, opened.token, opened.urls["anthropic"])
    assert '"command": "ls"' in answer
    assert bench.client.trial(box.name)["turns"] >= 1


def test_another_trials_token_is_of_no_use(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    stolen = bench.client.open(f"{box.name}-other", "scripted/m")
    assert " 401 " in ask(box, stolen.token, opened.urls["anthropic"])
    assert bench.client.trial(f"{box.name}-other")["turns"] == 0


def test_the_orchestrators_side_is_not_behind_the_door(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    for path in ("/benchflow/totals", "/benchflow/stop", "/scripted/totals"):
        assert " 404 " in ask(box, bench.client.secret, opened.urls["anthropic"], path)


def test_the_hosts_loopback_stays_out_of_reach(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    for address in (bench.client.url, bench.model.url):
        assert ask(box, opened.token, address) == "unreachable"
    for gateway in ("10.0.2.2", "169.254.169.254"):
        port = bench.client.url.rpartition(":")[2]
        tried = f"timeout 3 bash -c 'exec 3<>/dev/tcp/{gateway}/{port}' && echo reached"
        assert "reached" not in box.exec(tried).text.replace(tried, "")


def test_nothing_of_the_gateway_is_in_the_sandbox(bench: Bench, box: Sandbox) -> None:
    bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    seen = box.exec("cat /proc/*/environ /proc/*/cmdline 2>/dev/null; env; mount").stdout
    for secret in (KEY, bench.client.secret, "gateway"):
        assert secret.encode() not in seen


def test_a_restarted_gateway_opens_the_doors_again(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    os.kill(bench.client.pid, signal.SIGKILL)
    bench.again()
    assert '"command": "ls"' in ask(box, opened.token, opened.urls["anthropic"])


_MANY = """
use IO::Socket::INET;
my @open = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0]) } 1 .. 600;
my $last = pop @open;
local $SIG{ALRM} = sub { print "waits"; exit };
alarm 50;
my $read = sysread($last, my $nothing, 1);
print defined $read && $read == 0 ? "closed" : "reset";
"""


def test_a_sandbox_has_so_many_connections_and_no_more(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    port = opened.urls["anthropic"].rpartition(":")[2]
    assert box.exec(["perl", "-e", _MANY, port], timeout=60).text in ("closed", "reset")
    # Their 599 ends are told to the gateway one by one.
    answered = (ask(box, opened.token, opened.urls["anthropic"]) for _ in range(100))
    assert any('"command": "ls"' in each or time.sleep(0.2) for each in answered)


def test_a_closed_trial_has_no_door(bench: Bench, box: Sandbox) -> None:
    opened = bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    bench.client.close(box.name)
    assert ask(box, opened.token, opened.urls["anthropic"]) in ("unreachable", "")


def test_a_sandbox_that_is_gone(bench: Bench) -> None:
    opened = bench.client.open("gone", "scripted/m")
    with pytest.raises(InfrastructureError, match="gone"):
        bench.client.door(opened, 2**22 - 1)


def test_the_ledger_says_which_sandbox_had_a_door(bench: Bench, box: Sandbox) -> None:
    bench.client.door(bench.client.open(box.name, "scripted/m"), box.init_pid)
    doors = [json.loads(line) for line in Path(bench.ledger).read_text().splitlines()]
    assert any(d["event"] == "door" and d["pid"] == box.init_pid for d in doors)

"""A guest that is asked: one real machine, from its start to its end."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from benchflow.bench import line_service
from benchflow.bench.guest import SPOILT, Guest, until
from benchflow.bench.ssh_client import SshClient
from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import CommandFailed, GuestError, GuestExited, GuestPanic, GuestTimeout, Machine


class Gateway(Guest):
    """What a task derives: here, what is done after each login."""

    logins = 0

    def entered(self) -> None:
        self.logins += 1
        self.say("dmesg -n 1")


@pytest.fixture(scope="module")
def gateway(machine: Machine) -> Gateway:
    guest = Gateway(machine, "toor", login_seconds=120)
    guest.start()
    return guest


def test_commands_and_files(gateway: Gateway) -> None:
    assert gateway.logins == 1 and gateway.say("echo ' two words '") == "two words"
    assert gateway.code("exit 7") == 7 and gateway.run("echo a; exit 3").status == 3
    with pytest.raises(CommandFailed):
        gateway.say("false")
    gateway.write("/tmp/it's", "text\n")
    assert gateway.say('cat "/tmp/it\'s"') == "text" and gateway.has("/tmp/it's")
    gateway.say("ln -s nowhere /tmp/link")
    assert gateway.has("/tmp/link") and not gateway.has("/tmp/none")


def test_passwords_that_let_in(gateway: Gateway) -> None:
    words = near("toor")
    assert "" in words and "TOOR" in words and "toor" not in words
    assert let_in(gateway.machine, "root", [*words[:2], "toor"]) == ["toor"]
    gateway.log_in(60)
    assert gateway.say("id -u") == "0"


def test_waiting_for_an_answer(gateway: Gateway) -> None:
    asked: list[int] = []

    def third() -> str:
        asked.append(1)
        return "there" if len(asked) == 3 else ""

    assert gateway.until(third, 30, "third answer", every=0.01) == "there"
    with pytest.raises(GuestTimeout, match=r"gw: no pony in 0\.1 s"):
        gateway.until(lambda: False, 0.1, "pony")


def test_a_word_on_the_console(gateway: Gateway) -> None:
    gateway.machine.send("echo to$((40 + 2))\n")
    gateway.await_word("to42", 30)
    with pytest.raises(GuestTimeout):
        gateway.await_word("no.such", 1)
    gateway.enter()  # what was typed past the shell is over


def test_tries_that_panic(gateway: Gateway) -> None:
    left: list[float] = []

    def wait(seconds: float) -> None:
        left.append(seconds)
        if len(left) < 3:
            raise GuestPanic("a try")

    gateway.through_panics(wait, 30)
    assert len(left) == 3 and 30 >= left[0] >= left[2] > 25

    def never(seconds: float) -> None:
        raise GuestPanic("again")

    with pytest.raises(GuestPanic):
        gateway.through_panics(never, 0.2)


def test_a_step_is_begun_again_only_where_the_host_spoilt_it(gateway: Gateway) -> None:
    tried: list[int] = []

    def spoilt_once() -> None:
        tried.append(1)
        if len(tried) == 1:
            gateway.say(f'echo "{SPOILT}"')
            raise AssertionError("two tries")

    gateway.unspoilt(spoilt_once)
    assert len(tried) == 2

    def its_own() -> None:
        tried.append(1)
        raise AssertionError("its own")

    with pytest.raises(AssertionError, match="its own"):
        gateway.unspoilt(its_own)
    assert len(tried) == 3


def test_a_service_of_lines(gateway: Gateway) -> None:
    machine = gateway.machine
    assert line_service.ask(machine, 7000, "one", "two", "three") == ["ONE", "TWO", "THREE"]
    host, port = machine.forward(7001)
    assert line_service.exchange((host, port), ["half"], 5) == [], "a line without its end"
    with pytest.raises(GuestTimeout, match="port 7002: 0 answers"):
        line_service.ask(machine, 7002, "nobody", seconds=1, wait=2)


def test_log_ins_over_ssh(gateway: Gateway, keys: dict[str, Path], tmp_path: Path) -> None:
    client = SshClient(gateway.machine, keys["friend"], tmp_path / "ssh")
    gateway.until(client.greets, 60, "SSH")
    for session in ("", "kept", "kept"):
        said = client.run("root", "echo out; echo err >&2; exit 3", 120, session=session)
        assert (said.text, said.status) == ("out\nerr\n", 3)
    said = client.client([*client.command("root", "-T"), "echo out; echo err >&2"], 60, apart=True)
    assert (said.text, said.errors, said.status) == ("out\n", "err\n", 0)
    offered = client.host_keys()
    assert "ssh-ed25519" in offered and offered["ssh-ed25519"] in client.known.read_text()
    assert sorted(client.offered("root", 120)) == ["password", "publickey"]
    assert client.opens("root", keys["friend"], 120)
    assert not client.opens("root", keys["stranger"], 120)
    with pytest.raises(GuestTimeout, match="no end of 'sleep"):
        client.run("root", "sleep 1000", 5)
    nobody = SshClient(gateway.machine, None, tmp_path / "nobody", port=7002)
    assert not nobody.greets(3)
    with pytest.raises(GuestError, match="no answer to a log-in"):
        nobody.opens("root", keys["friend"], 120)
    assert nobody.host_keys(("ed25519",)) == {}
    with pytest.raises(AssertionError, match="did not refuse"):
        nobody.offered("root", 120)


def test_a_restart_and_an_orderly_end(gateway: Gateway) -> None:
    boots = gateway.machine.boots
    gateway.restart(120, command="reboot -f")  # process 1 is a shell, and obeys nobody else
    # On a busy host the kernel may give up once more before it starts (docs/boot.md, "Time").
    assert gateway.machine.boots > boots and gateway.logins == 3
    with pytest.raises(AssertionError, match=r"exit: still on after 1 seconds$"):
        gateway.power_off(1, command="exit")
    gateway.enter()
    gateway.power_off(60, command="poweroff -f")
    assert not gateway.machine.alive
    with pytest.raises(GuestExited, match="gw switched itself off: no answer"):
        until(gateway.machine, lambda: False, 30, "answer")
    assert until(gateway.machine, lambda: "known", 30, "answer") == "known", "asked once more"


def test_a_wait_sees_a_machine_that_goes_off(gateway: Gateway) -> None:
    if gateway.machine.alive:
        gateway.machine.power_cut()
    gateway.start()
    began = time.monotonic()
    threading.Timer(1.0, gateway.machine.power_cut).start()
    with pytest.raises(GuestExited):
        gateway.until(lambda: False, 300, "end", every=0.1)
    assert time.monotonic() - began < 60

"""Checks that need a second machine: copy them into a task's tests/checks.py.

The deliverable is a web server. One machine boots it; a second one, which the agent never saw,
hangs on the same wire and asks. What it asks for is drawn for this run, so no answer is prepared.
"""

import pytest

from benchflow.boot import Nic, check, milestone


def booted(machines, deliverable, name, address):
    """A machine on the wire "office", on which nothing else answers: no DHCP, no host."""
    machine = machines.create(
        name,
        kernel=deliverable("/app/out/kernel"),
        initrd=deliverable("/app/out/initrd"),
        nics=[Nic(lan="office")],
    )
    shell = machine.boot().attach()
    shell.run(f"ip link set eth0 up && ip addr add {address}/24 dev eth0", check=True)
    return machine


@pytest.fixture(scope="session")
def server(machines, deliverable):
    return booted(machines, deliverable, "server", "10.1.1.1")


@pytest.fixture(scope="session")
def client(machines, deliverable):
    # Here it is a second copy of what was delivered. A machine of yours, which no agent could
    # prepare, has its disk beside this file: Disk(Path(__file__).with_name("client.img")).
    return booted(machines, deliverable, "client", "10.1.1.2")


@milestone("serves", proves=["R1"], title="It serves a file to another machine")
def test_it_serves_another_machine(server, client, nonce):
    word = nonce()
    server.shell.write_file("/srv/word", word.encode())
    got = client.shell.run("wget -q -O - http://10.1.1.1/word", timeout=60)
    assert got.stdout == word, f"another machine got {got.stdout[:80]!r} [R1]"


@check("serves", proves=["R2"])
def test_what_is_not_there_is_not_served(client):
    assert client.shell.run("wget -q -O - http://10.1.1.1/none", timeout=60).status != 0

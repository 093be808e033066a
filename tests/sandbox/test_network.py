"""The network of a sandbox: none, or outside only; never the host."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator

import pytest

from benchflow.sandbox import Image, Sandbox, debian, network
from benchflow.sandbox.image import mirror
from benchflow.sandbox.inside import egress_filter


@pytest.fixture(scope="module")
def image() -> Image:
    return debian("bookworm")


@pytest.fixture(scope="module")
def box(image: Image) -> Iterator[Sandbox]:
    with Sandbox.start(image, network="user") as running:
        yield running


def host_addresses() -> list[str]:
    shown = subprocess.run(["ip", "-o", "-4", "addr"], capture_output=True, text=True, check=True)
    return [line.split()[3].partition("/")[0] for line in shown.stdout.splitlines()]


def reaches(box: Sandbox, address: str, port: int) -> bool:
    script = f"exec 3<>/dev/tcp/{address}/{port}"
    return box.exec(["timeout", "10", "bash", "-c", script]).status == 0


@pytest.mark.needs("sandbox")
def test_without_a_network_there_is_loopback_and_nothing_else(image: Image) -> None:
    with Sandbox.start(image, network="none") as own:
        devices = own.exec("tail -n +3 /proc/net/dev | cut -d: -f1").text.split()
        assert devices == ["lo"]
        assert "unreachable" in own.exec("exec 3<>/dev/tcp/192.0.2.77/80").error_text
        server = "perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0);"
        listen = server + "bind(S,sockaddr_in(7070,INADDR_LOOPBACK));listen(S,1);accept(C,S)' &"
        assert own.exec(f"{listen} sleep 0.5; exec 3<>/dev/tcp/127.0.0.1/7070").status == 0


@pytest.mark.needs("sandbox")
def test_services_of_the_host_are_out_of_reach_by_any_of_its_addresses(box: Sandbox) -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()  # the service is really there
        for address in (*host_addresses(), "10.0.2.2", "127.0.0.1", "0.0.0.0"):
            assert not reaches(box, address, port), address
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.needs("sandbox")
def test_datagrams_do_not_reach_the_host_either(box: Sandbox) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("0.0.0.0", 0))
        server.settimeout(1)
        port = server.getsockname()[1]
        for address in host_addresses():
            box.exec(f"echo x > /dev/udp/{address}/{port}")
        with pytest.raises(TimeoutError):
            server.recv(10)


@pytest.mark.needs("sandbox")
def test_abstract_sockets_of_the_host_are_not_seen(box: Sandbox) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind("\0benchflow-test-abstract")
        server.listen()
        assert "benchflow-test-abstract" not in box.exec("cat /proc/net/unix").text


@pytest.mark.needs("sandbox")
def test_the_mirror_is_reached_by_name(box: Sandbox) -> None:
    sources = [source for source in mirror.machine_sources() if source.uri.startswith("http:")]
    if not sources:
        pytest.skip("this machine has no mirror over plain http")
    host = sources[0].uri.split("/")[2].partition(":")[0]
    assert reaches(box, host, 80)


@pytest.mark.needs("sandbox")
def test_the_helper_of_the_network_is_not_among_the_processes(box: Sandbox) -> None:
    assert "slirp" not in box.exec("cat /proc/[0-9]*/comm").text


@pytest.mark.parametrize(
    ("family", "address", "allowed"),
    [
        (socket.AF_INET, "127.0.0.1", False),
        (socket.AF_INET, "127.8.9.1", False),
        (socket.AF_INET, "0.0.0.0", False),
        (socket.AF_INET, "169.254.169.254", False),
        (socket.AF_INET, "203.0.113.9", True),
        (socket.AF_INET6, "::1", False),
        (socket.AF_INET6, "::", False),
        (socket.AF_INET6, "::ffff:127.0.0.1", False),
        (socket.AF_INET6, "::ffff:169.254.169.254", False),
        (socket.AF_INET6, "fe80::1", False),
        (socket.AF_INET6, "2001:db8::1", True),
    ],
)
def test_which_addresses_may_be_talked_to(
    family: socket.AddressFamily, address: str, allowed: bool
) -> None:
    packed = socket.inet_pton(family, address)
    head = int(family).to_bytes(2, "little") + (80).to_bytes(2, "big")
    raw = head + (packed + bytes(8) if family == socket.AF_INET else bytes(4) + packed + bytes(4))
    assert egress_filter._allowed(raw, set()) is allowed


def test_a_local_name_server_may_be_asked_and_nothing_else_of_it() -> None:
    raw = int(socket.AF_INET).to_bytes(2, "little") + (53).to_bytes(2, "big") + b"\x7f\0\0\x35"
    assert egress_filter._allowed(raw + bytes(8), {"127.0.0.53"})
    other = raw[:2] + (54).to_bytes(2, "big") + raw[4:]
    assert not egress_filter._allowed(other + bytes(8), {"127.0.0.53"})


@pytest.mark.needs("sandbox")
def test_each_sandbox_knows_its_own_name(image: Image) -> None:
    with Sandbox.start(image, hostname="gw1") as own:
        assert own.exec("hostname; getent hosts gw1").text.split()[:2] == ["gw1", "127.0.1.1"]
    files = network.identity_files("gw1", "none")
    assert files["/etc/resolv.conf"] == ""

"""Frames and messages as bytes, and the proof of an SSH host's key."""

from __future__ import annotations

import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import needs

from benchflow.bench import dhcp_message, ethernet
from benchflow.bench.dhcp_message import DhcpMessage, dhcp_options
from benchflow.bench.ethernet import (
    ACK,
    ARP,
    ICMPV6,
    IPV4,
    IPV6,
    SYN,
    TCP,
    UDP,
    Arp,
    Frame,
    Packet,
    Segment,
    checksum,
    echo,
    ip_packet,
    read_udp,
    summed,
    udp,
)
from benchflow.bench.ssh_host_proof import NoProof, prove_host_key, x25519
from guests import fetch_package

HERE, THERE = "10.0.0.1", "10.0.0.2"


def test_frames_are_read_as_they_were_made() -> None:
    frame = Frame("52:54:00:00:00:01", ethernet.drawn_mac(), ARP, b"x" * 60)
    assert Frame.read(frame.pack()) == frame and Frame.read(b"short") is None
    assert len(Frame("52:54:00:00:00:01", "52:54:00:00:00:02", ARP, b"").pack()) == 60
    arp = Arp(1, frame.source, HERE, "00:00:00:00:00:00", THERE)
    assert Arp.read(arp.pack()) == arp and Arp.read(arp.pack()[:20]) is None


def test_packets_carry_what_they_say() -> None:
    packet = udp(HERE, 53, THERE, 5353, b"data")
    again = Packet.read(packet.pack())
    assert again == packet and read_udp(packet) == (53, 5353, b"data")
    damaged = bytearray(packet.pack())
    damaged[8] ^= 1
    assert Packet.read(bytes(damaged)) is None, "a wrong checksum"
    assert Packet.read(packet.pack()[:-1]) is None and Packet.read(packet.pack()[:30], False)
    segment = Segment(80, 40000, 7, 8, SYN | ACK, b"hello")
    assert Segment.read(segment.pack(HERE, THERE)) == segment and Segment.read(packet) is None
    ping = echo(HERE, THERE, 3, 4, b"nonce")
    assert checksum(ping.body) == 0 and ping.body[:1] == b"\x08"
    assert echo(HERE, THERE, 3, 4, b"n", reply=True).body[:1] == b"\0"
    error = ethernet.unreachable("10.0.0.9", packet)
    assert error.target == HERE and error.body[8:] == packet.pack()[:28]


@pytest.mark.parametrize(("source", "target"), [(HERE, THERE), ("fe80::1", "fe80::2")])
def test_checksums_are_those_of_both_families(source: str, target: str) -> None:
    body = Segment(1, 2, 3, 4, SYN, b"abc").body(source, target)
    here, there = ethernet.ip_bytes(source), ethernet.ip_bytes(target)
    tail = struct.pack(">BBH", 0, TCP, len(body)) if ":" not in source else b""
    tail = tail or struct.pack(">II", len(body), TCP)
    assert checksum(here + there + tail + body) == 0
    kind, packet = ip_packet(source, target, TCP, body, hops=9)
    assert kind == (IPV6 if ":" in source else IPV4) and packet.endswith(body)
    assert 9 in (packet[7], packet[8])
    assert summed(source, target, UDP, bytes(8), 6)[6:] != b"\0\0"
    assert ICMPV6 == 58


def test_a_dhcp_message_comes_back_as_it_went() -> None:
    asked = DhcpMessage(1, 0xCAFE, "52:54:00:01:02:03", "0.0.0.0", "10.0.0.7", {
        dhcp_message.KIND: bytes([dhcp_message.REQUEST]),
        dhcp_message.DNS: bytes([10, 0, 0, 1, 10, 0, 0, 2]),
    })  # fmt: skip
    found = DhcpMessage.read(asked.pack())
    assert found == asked and found.kind == dhcp_message.REQUEST
    assert found.addresses(dhcp_message.DNS) == ["10.0.0.1", "10.0.0.2"]
    assert DhcpMessage.read(b"x" * 300) is None
    assert DhcpMessage(1, 0, "52:54:00:01:02:03", HERE, HERE).kind == 0


@pytest.mark.parametrize("data", [b"", b"\x35", b"\x35\xff\x01", b"\0\0\x35\x01\x01"])
def test_options_that_are_cut_off_are_no_error(data: bytes) -> None:
    assert set(dhcp_options(data)) <= {53}


def test_the_shared_point_is_that_of_the_standard() -> None:
    # RFC 7748, 6.1
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645"
                          "4c5d7e2a2d5b6e2a2d5b6e2a2d5b6e2a")  # fmt: skip
    nine = (9).to_bytes(32, "little")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    assert x25519(alice, x25519(bob, nine)) == x25519(bob, x25519(alice, nine))
    assert x25519(bob, nine).hex() == (
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    )


@pytest.fixture(scope="module")
@needs("root", "sandbox", "guests")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[tuple[str, int], Path]]:
    program = fetch_package("openssh-server") / "usr/sbin/sshd"
    (library,) = fetch_package("libwrap0").glob("**/libwrap.so.0")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)],
                       check=True)  # fmt: skip
    Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    words = ["-D", "-e", "-f", "/dev/null", "-h", str(folder / "host"), "-p", str(address[1]),
             "-o", "ListenAddress=127.0.0.1", "-o", "PidFile=none"]  # fmt: skip
    with (folder / "log").open("wb") as log:
        environment = {"LD_LIBRARY_PATH": str(library.parent), "PATH": "/usr/bin:/bin"}
        # sshd wants an account of that name, which this machine need not have.
        accounts = Path("/etc/passwd").read_text() + "sshd:x:64999:65534::/run/sshd:/bin/false\n"
        (folder / "passwd").write_text(accounts)
        inside = f'mount --bind {folder}/passwd /etc/passwd && exec "$@"'
        unshared = ["unshare", "-m", "sh", "-c", inside, "sh", str(program), *words]
        child = subprocess.Popen(unshared, stderr=log, env=environment)
    for _ in range(200):
        with socket.socket() as link:
            if link.connect_ex(address) == 0:
                break
        time.sleep(0.05)
    yield address, folder
    child.terminate()
    child.wait()


def test_a_host_proves_its_key_and_no_other(sshd: tuple[tuple[str, int], Path]) -> None:
    address, folder = sshd
    prove_host_key(address, (folder / "host.pub").read_text())
    with pytest.raises(NoProof, match="another host key"):
        prove_host_key(address, (folder / "other.pub").read_text())


def test_who_speaks_no_ssh_proves_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.listen()
        address = server.getsockname()
        with pytest.raises(NoProof):
            prove_host_key(address, "ssh-ed25519 AAAA", timeout=0.5)
    with pytest.raises(OSError):
        prove_host_key(address, "ssh-ed25519 AAAA", timeout=0.5)

"""The kernel on a network whose other side is the verifier's."""

from __future__ import annotations

import contextlib
import hashlib
import re
import select
import socket
import threading
import time

import wires
from exam import Bench, Start, proof
from lives import Living
from rootfs import Root, word

#: Real seconds after which a socket of ours gives up; what decides are deadlines.
PATIENT = 300


def online(
    bench: Bench, program: str, wire: wires.Wire, params: str, why: str, **spec
) -> tuple[Start, Root, str]:
    """A start with `ip=dhcp` and a program as process 1."""
    root = Root(bench.rng)
    path = root.program(program)
    image = root.image(bench.path("root.img"))
    start = bench.start(
        f"ip=dhcp init={path} -- {params}", why, image, extra_args=wire.arguments, **spec
    )
    return start, root, path


def answers_arp_and_echo(bench: Bench) -> None:
    """From another machine on its network, which is the verifier's."""
    rng = bench.rng
    wire = wires.Wire(rng, deaf=2)
    start, _, _ = online(bench, "network", wire, "port=7000 echoes", "[R39] ip=dhcp")
    try:
        found = start.hears(
            r"^ip: ([0-9.]+)\b.*\n",
            60,
            "[R39] the address, when only the third request is answered",
        )
        assert found[1] == wire.address, f"[R39] it says {found[1]}, the server gave {wire.address}"
        start.hears(r"^<echoes>\n", 20)
        mac, address = (
            "52:54:00:" + ":".join(f"{rng.randrange(256):02x}" for _ in range(3)),
            f"{wire.net}.{rng.randrange(4, 19)}",
        )
        await_frame(
            start,
            wire,
            wires.arp_request(wire, mac, address),
            "[R38] ARP",
            lambda frame: (
                frame[12:14] == b"\x08\x06"
                and frame[20:22] == b"\0\2"
                and frame[22:28] == wires.packed(wire.mac)
                and frame[28:32] == socket.inet_aton(wire.address)
                and frame[:6] == wires.packed(mac)
            ),
        )
        for size in (0, 1, 56, rng.randint(100, 1400), 1472):
            number, payload = rng.randrange(1, 60000), rng.randbytes(size)
            request = wires.echo_request(wire, mac, address, number, payload)
            await_frame(
                start,
                wire,
                request,
                f"[R38] an echo of {size} bytes",
                lambda frame, n=number, p=payload: wires.echo_reply(frame, n) == p,
            )
    finally:
        start.close()
        wire.close()


def await_frame(start: Start, wire: wires.Wire, request: bytes, why: str, right) -> None:
    """Ask until the answer comes, for 15 s."""
    seen, deadline = len(wire.frames), start.machine.deadline(15)
    while True:
        wire.send(request)
        for _ in range(50):
            if any(right(frame) for frame in wire.frames[seen:]):
                return
            time.sleep(0.02)
        assert deadline.remaining() > 0 and start.machine.alive, f"{why}: no right answer comes"


def pings_and_tells(bench: Bench) -> None:
    """BusyBox's ping and ifconfig."""
    wire = wires.Wire(bench.rng)
    living = None
    try:
        living = Living(
            bench, "[R40] BusyBox on the network", append="ip=dhcp", extra_args=wire.arguments
        )
        told = living.say("ifconfig eth0")
        assert wire.address in told and wire.mac.upper() in told.upper(), (
            f"[R39] ifconfig eth0: {told[:300]!r}"
        )
        pinged = living.say(f"ping -c 3 -s 700 {wire.gateway}", 40)
        assert re.search(r"3 packets transmitted, 3 packets received", pinged), (
            f"[R40] ping: {pinged[-300:]!r}"
        )
    finally:
        if living:
            living.close()
        wire.close()


def key(salt: bytes, count: int) -> bytes:
    """What the program changes bytes with."""
    return bytes(salt[i % 32] ^ (i * 7 + (i >> 8) & 255) for i in range(count))


def xored(data: bytes, other: bytes) -> bytes:
    """Byte by byte."""
    return (int.from_bytes(data, "little") ^ int.from_bytes(other[: len(data)], "little")).to_bytes(
        len(data), "little"
    )


def udp(bench: Bench) -> None:
    """Datagrams from the verifier's machine on the network come back, changed."""
    rng = bench.rng
    wire = wires.Wire(rng)
    port = rng.randint(2000, 60000)
    start, root, path = online(bench, "network", wire, f"port={port} echoes", "[R40] UDP")
    try:
        start.hears(r"^<echoes>\n", 60)
        mac, address = "52:54:00:12:34:56", f"{wire.net}.{rng.randrange(4, 19)}"
        await_frame(
            start,
            wire,
            wires.arp_request(wire, mac, address),
            "[R38] ARP",
            lambda frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2",
        )
        for size in (1, 2, rng.randint(10, 1000), 1472):
            data, source = rng.randbytes(size), rng.randint(1024, 65000)
            due = xored(data, key(root.salts[path], size))
            await_frame(
                start,
                wire,
                datagram(wire, mac, address, source, port, data),
                f"[R40] {size} bytes by UDP",
                lambda frame, s=source, d=due: (
                    answer_of(wire, frame, s) == d or answers_request(wire, frame, address, mac)
                ),
            )
    finally:
        start.close()
        wire.close()


def answers_request(wire: wires.Wire, frame: bytes, address: str, mac: str) -> bool:
    """The guest asks who has our address: it is told, and goes on."""
    if (
        frame[12:14] == b"\x08\x06"
        and frame[20:22] == b"\0\1"
        and frame[38:42] == socket.inet_aton(address)
    ):
        wire.send(
            wires.packed(wire.mac)
            + wires.packed(mac)
            + bytes.fromhex("08060001080006040002")
            + wires.packed(mac)
            + socket.inet_aton(address)
            + frame[22:32]
            + bytes(18)
        )
    return False


def datagram(
    wire: wires.Wire, mac: str, address: str, source: int, port: int, data: bytes
) -> bytes:
    """A UDP datagram to the guest."""
    udp_part = (
        source.to_bytes(2, "big")
        + port.to_bytes(2, "big")
        + (8 + len(data)).to_bytes(2, "big")
        + b"\0\0"
        + data
    )
    pseudo = (
        socket.inet_aton(address)
        + socket.inet_aton(wire.address)
        + b"\0\x11"
        + (8 + len(data)).to_bytes(2, "big")
    )
    total = wires.checksum(pseudo + udp_part) or 0xFFFF
    udp_part = udp_part[:6] + total.to_bytes(2, "big") + udp_part[8:]
    head = (
        b"\x45\0"
        + (20 + len(udp_part)).to_bytes(2, "big")
        + b"\0\1\0\0\x40\x11\0\0"
        + socket.inet_aton(address)
    )
    head += socket.inet_aton(wire.address)
    head = head[:10] + wires.checksum(head).to_bytes(2, "big") + head[12:]
    return wires.packed(wire.mac) + wires.packed(mac) + b"\x08\0" + head + udp_part


def answer_of(wire: wires.Wire, frame: bytes, port: int) -> bytes | None:
    """The data of a datagram to our port."""
    if (
        frame[12:14] != b"\x08\0"
        or frame[23:24] != b"\x11"
        or frame[36:38] != port.to_bytes(2, "big")
    ):
        return None
    length = int.from_bytes(frame[38:40], "big")
    return frame[42 : 34 + length]


def crowd_of_connections(bench: Bench, many: int, size: int) -> None:
    """So many at once; each gets back what it sends, changed."""
    rng = bench.rng
    port = rng.randint(2000, 60000)
    wire = wires.Wire(rng, forwards=(port,))
    start, root, path = online(bench, "network", wire, f"port={port} serves", "[R41] a TCP server")
    try:
        start.hears(r"^<serves>\n", 60)
        where = start.machine.forward(port)
        deadline = start.machine.deadline(60)
        change = key(root.salts[path], size)
        peers = []
        for _ in range(many):
            peer, data = socket.create_connection(where, PATIENT), rng.randbytes(size)
            peer.sendall(data[:10])
            # QEMU takes one connection at a time: the next when this one is served.
            peers.append((peer, data, received(peer, 10, deadline)))
        for peer, data, _ in peers:
            threading.Thread(target=_send, args=(peer, data[10:]), daemon=True).start()
        for peer, data, begun in peers:
            got = begun + received(peer, size - len(begun), deadline)
            assert len(got) == size, f"[R41] it ends after {len(got)} of {size} bytes"
            assert got == xored(data, change), "[R41] other bytes came back"
            peer.shutdown(socket.SHUT_WR)
            assert received(peer, 10, deadline) == b"", "[R41] it does not end"
            peer.close()
        with socket.create_connection(where, PATIENT) as last:
            last.sendall(b"quit")
            last.shutdown(socket.SHUT_WR)
            found = start.hears(r"^@serves (ok|no) ([^\n]*)\n", 30, "[R41]")
        due = [
            proof(root.salts[path], "serves", str(most).encode()) for most in range(many, many + 3)
        ]
        assert found[1] == "ok" and found[2] in due, f"[R41] {many} at once: {found[0]!r}"
    except OSError as error:
        raise AssertionError(
            f"[R41] connections: {error}; the console ends: {start.end()}"
        ) from None
    finally:
        start.close()
        wire.close()


def received(peer: socket.socket, count: int, deadline) -> bytes:
    """So many bytes, or what came before the end. AssertionError when time is up."""
    got = bytearray()
    while len(got) < count:
        ready, _, _ = select.select([peer], [], [], 1)
        if not ready:
            assert deadline.remaining() > 0, f"nothing more comes after {len(got)} bytes"
            continue
        piece = peer.recv(min(65536, count - len(got)))
        if not piece:
            break
        got += piece
    return bytes(got)


def asked(peer: socket.socket, end: bytes) -> bytes:
    """What a client sends up to `end`. OSError where that does not come."""
    got = b""
    while end not in got:
        piece = peer.recv(4096)
        if not piece or len(got) > 1 << 16:
            raise OSError("no request")
        got += piece
    return got


def _send(peer: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        peer.sendall(data)


def fetches(bench: Bench, size: int, loss: float, least: int = 0) -> None:
    """A client in the guest gets so many bytes from the verifier and sends them back, changed."""
    rng = bench.rng
    wire = wires.Wire(rng)
    why = f"[R42] with {loss:.0%} of frames lost" if loss else "[R41] a TCP client"
    data, result = rng.randbytes(size), {}
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(PATIENT)
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    shut = closed.getsockname()[1]

    def serve() -> None:
        with contextlib.suppress(OSError):
            peer, _ = server.accept()
            with peer:
                peer.settimeout(PATIENT)
                asked(peer, b"\n")
                peer.sendall(data)
                back = bytearray(peer.recv(1))
                begun = start.machine.deadline(3600)
                while len(back) <= size and (piece := peer.recv(65536)):
                    back += piece
                result["out"], result["back"] = begun.used(), bytes(back)
                peer.sendall(b"ok")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    parts = "fetches" if loss else "fetches refused"
    params = f"peer={wire.gateway} port={server.getsockname()[1]} size={size} closed={shut} {parts}"
    start, root, path = online(bench, "network", wire, params, why)
    try:
        start.hears(r"^<fetches>\n", 60)
        wire.loss = loss
        found = start.hears(r"^@fetches (ok|no) ([^\n]*)\n", 180 if loss else 90, why)
        assert found[1] == "ok" and found[2] == proof(root.salts[path], "fetches", data), (
            f"{why}: {found[0]!r}"
        )
        assert result.get("back") == xored(data, key(root.salts[path], size)), (
            f"{why}: other bytes came back"
        )
        if least:
            # What comes in is as fast as QEMU's network sends again what was lost.
            rate = size / max(0.1, result["out"])
            assert rate >= least, (
                f"{why}: {rate / 1024:.0f} KiB a second go out ({wire.lost} frames were lost)"
            )
        if not loss:
            told = start.hears(r"^@refused (ok|no) ([^\n]*)\n", 30, "[R41] a refused connection")
            assert told[1] == "ok", f"[R41] a refused connection: {told[2]}"
    finally:
        start.close()
        server.close()
        closed.close()
        wire.close()


def busybox_web(bench: Bench) -> None:
    """wget from the verifier, httpd for it."""
    rng = bench.rng
    wire = wires.Wire(rng, forwards=(80,))
    said, page = word(rng, 6), rng.randbytes(200_000)
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                with peer:
                    peer.settimeout(PATIENT)
                    asked(peer, b"\r\n\r\n")
                    peer.sendall(
                        b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page) + page
                    )

    threading.Thread(target=serve, daemon=True).start()
    living = None
    try:
        living = Living(
            bench, "[R43] BusyBox on the network", append="ip=dhcp", extra_args=wire.arguments
        )
        got = living.say(
            (
                f"wget -q -O /tmp/page http://{wire.gateway}:{port}/x; "
                "sha256sum /tmp/page | cut -c1-64"
            ),
            60,
        )
        assert got == hashlib.sha256(page).hexdigest(), f"[R43] wget: {got[-200:]!r}"
        living.say(f"mkdir /www; echo {said} >/www/index.html; httpd -p 80 -h /www; sleep 0.5")
        deadline = living.machine.deadline(30)
        with socket.create_connection(living.machine.forward(80), PATIENT) as peer:
            peer.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
            text = received(peer, 1 << 20, deadline)
        assert b"200 OK" in text and said.encode() in text, f"[R43] httpd: {text[:200]!r}"
    finally:
        if living:
            living.close()
        server.close()
        wire.close()

"""Servers: what they say to a client that speaks by hand, and with Node.js what they should."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from programs import ENVIRONMENT, Program
from talker import Line, chunked, request

from benchflow.boot import VerifierBroken

UP_SECONDS = 60
PORT = 8080


@contextlib.contextmanager
def by_node(program: Program, node: str = "node") -> Iterator[int]:
    """A program that serves, run by Node.js: its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp())
    program.write(folder)
    running = subprocess.Popen(
        [node, *program.arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT | {"PORT": str(port), "HOST": "127.0.0.1"},
    )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        else:
            raise VerifierBroken("Node.js does not serve")
        yield port
    finally:
        running.kill()
        running.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def by_guest(guest, program: Program) -> Iterator[int]:
    """The same, run by skarn on a machine."""
    place = f"/tmp/work/{program.name}"
    guest.give(place, {path: text.encode() for path, text in program.files.items()})
    guest.ok(
        f"cd {place}; env -i PATH=/bin HOME=/tmp skarn {' '.join(program.arguments)} > .out 2> "
        ".err < /dev/null &"
        f" echo $! > {place}/.pid",
        "[R14]",
    )
    try:
        for _ in range(UP_SECONDS * 2):
            if (
                guest.run(f"grep -q listening {place}/.out || ! kill -0 $(cat {place}/.pid)").status
                == 0
            ):
                break
            guest.run("sleep 0.5")
        said = guest.read(f"{place}/.err", 2000)
        assert guest.run(f"kill -0 $(cat {place}/.pid)").status == 0, (
            f"[R14] the server is not there: {said!r}"
        )
        yield guest.machine.forward(PORT)[1]
    finally:
        guest.run(f"kill -KILL $(cat {place}/.pid); sleep 0.2; rm -rf {place}")


Talk = Callable[[int, random.Random], list[tuple]]


def same(guest, program: Program, talk: Talk, rng: random.Random, node: str = "node") -> None:
    """A talk comes to the same with both."""
    seed = rng.getrandbits(60)
    with by_node(program, node) as port:
        wanted = talk(port, random.Random(seed))
    with by_guest(guest, program) as port:
        got = talk(port, random.Random(seed))
    for n, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
        assert ours == theirs, (
            f"[R14] answer {n + 1} is {str(theirs)[:400]}, with Node.js {str(ours)[:400]}"
        )


def body(rng: random.Random, most: int) -> bytes:
    return rng.randbytes(rng.randrange(most))


def plainly(port: int, rng: random.Random) -> list[tuple]:
    """Requests in turn on one connection."""
    told: list[tuple] = []
    with Line(port) as line:
        for _ in range(4):
            headers = {
                f"X-{rng.choice('abc')}{n}": f"v{rng.randrange(999)}"
                for n in range(rng.randrange(4))
            }
            told.append(
                line.send(request("GET", f"/echo?{rng.randrange(9)}", headers)).answer().told()
            )
            sent = body(rng, 200_000)
            told.append(line.send(request("POST", "/echo", headers, sent)).answer().told())
            pieces = [body(rng, 5000) for _ in range(rng.randrange(1, 9))]
            asked = request("PUT", "/echo", {"Transfer-Encoding": "chunked"}) + chunked(pieces)
            for at in range(0, len(asked), 3001):
                line.send(asked[at : at + 3001])
            told.append(line.answer().told())
        for path in (
            "/pieces?7",
            "/pieces?0",
            f"/length?{rng.randrange(50_000)}",
            "/status?200",
            "/status?204",
            "/status?404",
        ):
            told.append(line.send(request("GET", path)).answer().told())
        for path in ("/status?304", "/status?299", "/none", "/throw"):
            told.append(line.send(request("GET", path)).answer().told())
        for path in ("/pieces?5", "/length?300", "/status?200"):
            told.append(line.send(request("HEAD", path)).answer(head=True).told())
        sent = body(rng, 300_000)
        line.send(request("POST", "/mirror", {}, sent))
        told.append(line.answer().told())
        told.append(line.send(request("DELETE", "/echo", {"Connection": "close"})).answer().told())
        told.append((line.is_closed(),))
    return told


def in_a_row(port: int, rng: random.Random) -> list[tuple]:
    """Many requests at once, which are answered in their order."""
    told: list[tuple] = []
    with Line(port) as line:
        paths = [f"/late?{rng.choice((0, 5, 60, 120))}" for _ in range(6)] + [
            "/status?200",
            "/pieces?4",
            "/late?1",
        ]
        rng.shuffle(paths)
        line.send(
            b"".join(request("GET", path) for path in paths) + request("POST", "/echo", {}, b"last")
        )
        told += [line.answer().told() for _ in range(len(paths) + 1)]
    return told


def otherwise(port: int, rng: random.Random) -> list[tuple]:
    """What is less usual."""
    told: list[tuple] = []
    with Line(port) as line:
        sent = body(rng, 2000)
        line.send(
            request("POST", "/echo", {"Expect": "100-continue", "Content-Length": str(len(sent))})
        )
        told.append((line.answer(informal=True).status,))
        told.append(line.send(sent).answer().told())
    with Line(port) as line:
        told.append(line.send(b"GET /pieces?3 HTTP/1.0\r\n\r\n").answer().told())
    with Line(port) as line:
        answer = line.send(
            request("GET", "/length?9", {"Connection": "close"}, version="1.0")
        ).answer()
        told += [answer.told(), (line.is_closed(),)]
    with Line(port) as line:
        for _ in range(2):
            told.append(
                line.send(request("GET", "/length?9", {"Connection": "keep-alive"}, version="1.0"))
                .answer()
                .told()
            )
    with Line(port) as line:
        asked = request("GET", "/echo?slow", {"X-Slow": "yes"})
        for at in range(len(asked)):
            line.send(asked[at : at + 1])
            if at % 10 == 0:
                time.sleep(0.02)
        told.append(line.answer().told())
    with Line(port) as line:
        line.send(
            b"POST /echo HTTP/1.1\r\nhOsT:   spaced  \r\nX-Two: 1\r\n"
            b"x-two: 2\r\nX-Empty:\r\nCONTENT-LENGTH: 3\r\n\r\nabc"
        )
        told.append(line.answer().told())
    with Line(port) as line:
        line.send(
            b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3;ext=1\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX-Trailer: t\r\n\r\n"
        )
        told.append(line.answer().told())
        told.append(line.send(request("GET", "/status?200")).answer().told())
    return told


BAD = (
    b"GARBAGE\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"FROB / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost a\r\n\r\n",
    b"GET / HTTP/x.y\r\nHost: a\r\n\r\n",
    b"POST /reads HTTP/1.1\r\nHost: a\r\nContent-Length: 3x\r\n\r\nabc",
    b"POST /reads HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0\r\n\r\n",
    b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n\r\n",
)


def refuses(port: int, rng: random.Random) -> None:
    """What is no HTTP: a status, and the end of the connection [R15]."""
    tried = [(bad, 400) for bad in BAD]
    long = b"x" * rng.randrange(17_000, 24_000)
    many = b"".join(b"X-%d: %d\r\n" % (n, n) for n in range(1700))
    tried += [(b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + long + b"\r\n\r\n", 431)]
    tried += [(b"GET / HTTP/1.1\r\nHost: a\r\n" + many + b"\r\n", 431)]
    rng.shuffle(tried)
    for bad, status in tried:
        faults = []
        # What was not read when a connection is closed may take the answer with it.
        for _ in range(4):
            faults.append(not_refused(port, bad, status))
            if not faults[-1]:
                break
        else:
            raise AssertionError(f"[R15] {bad[:60]!r}: {faults[-1]}")
    with Line(port, why="[R15]") as line:
        fits = request("GET", "/status?200", {"X-Long": "x" * rng.randrange(6000, 12_000)})
        got = line.send(fits).answer().status
        assert got == 200, f"[R15] a header of less than 16 KiB is answered with {got}"


def not_refused(port: int, bad: bytes, status: int) -> str:
    """Why something was not refused as it has to be."""
    with Line(port, why="[R15]") as line:
        line.offer(bad)
        try:
            got = line.answer().status
        except AssertionError as error:
            return str(error)
        if got != status:
            return f"it is answered with {got}, not {status}"
        return "" if line.is_closed() else "the connection is not closed"


def state(port: int, why: str) -> dict:
    """What the program says of itself."""
    with Line(port, why=why) as line:
        answer = line.send(request("GET", "/seen")).answer()
    try:
        told = json.loads(answer.body)
        return {
            key: int(told[key]) for key in ("closed", "aborted", "made", "falses", "read", "rss")
        }
    except (ValueError, KeyError, TypeError):
        raise AssertionError(f"{why} /seen: {answer.body[:200]!r}") from None


GROWTH = 16 << 20


def holds_back(port: int) -> None:
    """Who does not read is not written to; whom nobody reads waits [R14]."""
    size = 64 << 20
    before = state(port, "[R14]")
    with Line(port) as line:
        line.send(request("GET", f"/big?{size}"))
        head = line.head()
        time.sleep(4)
        waiting = state(port, "[R14]")
        assert waiting["made"] < size // 2 and waiting["falses"] > 0, (
            f"[R14] nobody reads, and of {size} bytes {waiting['made']} were written,"
            f" `write` was false {waiting['falses']} times"
        )
        grown = waiting["rss"] - before["rss"]
        assert grown <= GROWTH, f"[R14] nobody reads, and the server has grown by {grown} bytes"
        assert head.status == 200, f"[R14] /big is {head.status}"
        # The rest comes when it is read.
        length = len(line.buffer)
        while length < size:
            piece = line._piece()
            assert piece, f"[R14] of {size} bytes {length} came when they were read"
            length += len(piece)
    with Line(port) as line:
        line.send(request("POST", "/deaf?12000", {"Content-Length": str(256 << 20)}))
        line.push(bytes(96 << 20), 5)
        grown = state(port, "[R14]")["rss"] - before["rss"]
        assert grown <= 2 * GROWTH, (
            f"[R14] nobody reads `req`, and the server has grown by {grown} bytes"
        )


def bears(port: int, rng: random.Random) -> None:
    """Clients that keep a server waiting keep nobody else waiting [R15]."""
    open_lines: list[Line] = []

    def served(why: str) -> None:
        begun = time.monotonic()
        with Line(port, why="[R15]") as line:
            got = line.send(request("GET", "/pieces?3")).answer()
            took = time.monotonic() - begun
            assert got.status == 200 and took < 30, f"[R15] {why}: {got.status} after {took:.0f} s"

    before = state(port, "[R15]")
    for _ in range(20):
        line = Line(port, why="[R15]")
        line.offer(request("POST", "/reads", {}, b"x" * 3000)[: rng.randrange(1, 2000)])
        open_lines.append(line)
    served("others have sent half a request")
    open_lines += [Line(port, why="[R15]") for _ in range(20)]
    served("others send nothing")
    for n in range(30):
        line = Line(port, why="[R15]")
        line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        line.offer(
            request("GET", f"/big?{8 << 20}")
            if n % 2
            else request("POST", "/reads", {"Content-Length": "90000"}) + b"x" * 500
        )
        if n % 3 == 0:
            time.sleep(0.05)
        line.close()
    served("others have vanished")
    slow = Line(port, why="[R15]")
    asked = request("GET", "/status?200")
    for at in range(len(asked)):
        slow.send(asked[at : at + 1])
        time.sleep(1 if at > len(asked) - 4 else 0.01)
        if at == len(asked) - 3:
            served("another sends a byte a second")
    assert slow.answer().status == 200, "[R15] who sends a byte a second has no answer"
    for line in [*open_lines, slow]:
        line.close()
    for _ in range(40):
        now = state(port, "[R15]")
        if now["closed"] - before["closed"] >= 10:
            break
        time.sleep(0.5)
    assert now["closed"] - before["closed"] >= 10, (
        "[R15] 15 clients vanished from an answer, `res` had "
        f"{now['closed'] - before['closed']} times `close`"
    )

"""A client that speaks HTTP by hand to a server that is hostile, slow, or Node.js."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass, field

MOST = 80 << 20
#: Headers that a server adds by itself, and of which nothing is said.
OWN = ("date", "connection", "keep-alive", "content-length", "transfer-encoding", "server")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes = b""
    version: str = "HTTP/1.1"
    trailers: bytes = field(default=b"", compare=False)

    def told(self) -> tuple:
        """What is compared."""
        given = {name: value for name, value in self.headers.items() if name not in OWN}
        return self.status, sorted(given.items()), self.body


class Line:
    """One connection. What does not come in time, or is no HTTP, is an AssertionError."""

    def __init__(self, port: int, seconds: float = 60, why: str = "[R14]") -> None:
        self.why = why
        self.seconds = seconds
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        except OSError as error:
            raise AssertionError(f"{why} nobody takes a connection: {error}") from None
        self.buffer = b""

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Line:
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise AssertionError(
                f"{self.why} the server does not take {data[:60]!r}: {error}"
            ) from None
        return self

    def offer(self, data: bytes) -> None:
        """Send what a server need not take."""
        with contextlib.suppress(OSError):
            self.socket.sendall(data)

    def _more(self) -> bytes:
        try:
            piece = self.socket.recv(1 << 16)
        except OSError as error:
            raise AssertionError(
                f"{self.why} no (more) answer: {error}; so far {self.buffer[:200]!r}"
            ) from None
        self.buffer += piece
        return piece

    def _line(self) -> bytes:
        while b"\r\n" not in self.buffer:
            assert len(self.buffer) < 1 << 17 and self._more(), (
                f"{self.why} the connection ends in the middle: {self.buffer[:200]!r}"
            )
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def _exactly(self, size: int) -> bytes:
        assert size <= MOST, f"{self.why} {size} bytes are announced"
        parts, have = [self.buffer], len(self.buffer)
        self.buffer = b""
        while have < size:
            piece = self._piece()
            assert piece, f"{self.why} {have} of {size} bytes came"
            parts.append(piece)
            have += len(piece)
        whole = b"".join(parts)
        self.buffer = whole[size:]
        return whole[:size]

    def _piece(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except OSError as error:
            raise AssertionError(f"{self.why} no more of an answer: {error}") from None

    def head(self) -> Answer:
        """The next status line and headers."""
        first = self._line()
        words = first.split(b" ", 2)
        assert len(words) >= 2 and words[0] in (b"HTTP/1.1", b"HTTP/1.0") and words[1].isdigit(), (
            f"{self.why} no status line: {first[:100]!r}"
        )
        headers: dict[str, str] = {}
        while line := self._line():
            name, colon, value = line.decode("latin-1").partition(":")
            assert colon and len(headers) < 200, f"{self.why} no header: {line[:100]!r}"
            key = name.lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        return Answer(int(words[1]), headers, version=words[0].decode())

    def answer(self, *, head: bool = False, informal: bool = False) -> Answer:
        """The next answer (`head`: to a HEAD; `informal`: 100 Continue too)."""
        told = self.head()
        while told.status < 200 and not informal:
            told = self.head()
        if head or told.status in (204, 304) or told.status < 200:
            return told
        if "chunked" in told.headers.get("transfer-encoding", "").lower():
            body, trailers = self._chunks()
            return Answer(told.status, told.headers, body, told.version, trailers)
        length = told.headers.get("content-length")
        if length is not None:
            assert length.isdigit(), f"{self.why} a length of {length[:40]!r}"
            body = self._exactly(int(length))
        else:
            body = self.rest()
        return Answer(told.status, told.headers, body, told.version)

    def _chunks(self) -> tuple[bytes, bytes]:
        parts, total = [], 0
        while True:
            size = self._line().partition(b";")[0].strip()
            try:
                count = int(size, 16)
            except ValueError:
                raise AssertionError(f"{self.why} no size of a chunk: {size[:40]!r}") from None
            if not count:
                break
            total += count
            assert count > 0 and total <= MOST, f"{self.why} too large an answer"
            parts.append(self._exactly(count))
            end = self._line()
            assert not end, f"{self.why} a chunk is longer than its size: {end[:40]!r}"
        trailers = b""
        while line := self._line():
            trailers += line + b"\n"
        return b"".join(parts), trailers

    def rest(self) -> bytes:
        """Whatever comes until the other side closes."""
        parts = [self.buffer]
        total = len(self.buffer)
        self.buffer = b""
        while piece := self._piece():
            total += len(piece)
            assert total <= MOST, f"{self.why} too large an answer"
            parts.append(piece)
        return b"".join(parts)

    def is_closed(self, seconds: float = 20) -> bool:
        """Whether the other side closes, and sends nothing more."""
        self.socket.settimeout(seconds)
        try:
            return not self.buffer and not self.socket.recv(1)
        except ConnectionResetError:
            return True
        except OSError:
            return False
        finally:
            self.socket.settimeout(self.seconds)

    def push(self, data: bytes, seconds: float) -> int:
        """How many bytes the other side takes in this time."""
        end, sent = time.monotonic() + seconds, 0
        self.socket.settimeout(0.5)
        while sent < len(data) and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                try:
                    sent += self.socket.send(data[sent : sent + (1 << 16)])
                except TimeoutError:
                    raise
                except OSError:
                    break
        self.socket.settimeout(self.seconds)
        return sent


def request(
    method: str,
    path: str,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    version: str = "1.1",
) -> bytes:
    lines = [f"{method} {path} HTTP/{version}", "Host: here"]
    given = dict(headers or {})
    if body is not None and not any(name.lower() == "transfer-encoding" for name in given):
        given["Content-Length"] = str(len(body))
    lines += [f"{name}: {value}" for name, value in given.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def chunked(pieces: list[bytes]) -> bytes:
    return (
        b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"
    )

"""The server that `fetch` is tried with: it answers, redirects, stalls, cuts and hangs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST = 8 << 20
MOST_CONNECTIONS = 64


class AskedServer:
    """On the loopback; `port` is where."""

    def __init__(self) -> None:
        self.end = threading.Event()
        self._server = LoopbackServer(("127.0.0.1", 0), _handler(self))
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.end.set()
        self._server.shutdown()
        self._server.server_close()


class LoopbackServer(ThreadingHTTPServer):
    """A guest that opens connections without end gets no more than these at once."""

    daemon_threads = True

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def process_request(self, request, client_address) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request, client_address) -> None:
        """Who hangs up is nobody's error."""


def _handler(asked: AskedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def _body(self) -> bytes:
            if "chunked" in (self.headers.get("transfer-encoding") or ""):
                parts, total = [], 0
                while size := int(self.rfile.readline(32).split(b";")[0] or b"0", 16):
                    total += size
                    if size < 0 or total > MOST:
                        raise ValueError("more than anybody was asked to send")
                    parts.append(self.rfile.read(size))
                    self.rfile.readline(8)
                self.rfile.readline(8)
                return b"".join(parts)
            return self.rfile.read(min(int(self.headers.get("content-length") or 0), MOST))

        def _say(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            if status not in (204, 304):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD" and status not in (204, 304):
                self.wfile.write(body)

        def _any(self) -> None:
            body = self._body()
            path, *rest = self.path.split("?")[0].strip("/").split("/")
            getattr(self, f"on_{path.replace('-', '_')}", self.on_none)(rest, body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_post = do_patch = _any

        def on_none(self, rest: list[str], body: bytes) -> None:
            self._say(404, b"nothing here")

        def on_echo(self, rest: list[str], body: bytes) -> None:
            given = {
                name.lower(): value
                for name, value in self.headers.items()
                if name.lower().startswith("x-") or name.lower() == "content-type"
            }
            told = {
                "method": self.command,
                "url": self.path,
                "headers": dict(sorted(given.items())),
            }
            told |= {"length": len(body), "sum": hashlib.sha1(body).hexdigest()}
            self._say(200, json.dumps(told).encode(), Content_Type="application/json")

        def on_json(self, rest: list[str], body: bytes) -> None:
            self._say(200, b'{"a": [1, "\\u00e4", {"b": null}]}')

        def on_bytes(self, rest: list[str], body: bytes) -> None:
            self._say(
                200,
                bytes(n % 251 for n in range(1000)) * (int(rest[0]) // 1000)
                + b"x" * (int(rest[0]) % 1000),
            )

        def on_utf8(self, rest: list[str], body: bytes) -> None:
            self._say(200, "\ufeffä€🍎".encode() + b"\xff")

        def on_status(self, rest: list[str], body: bytes) -> None:
            self._say(int(rest[0]), b"with a body")

        def on_redirect(self, rest: list[str], body: bytes) -> None:
            code, left = int(rest[0]), int(rest[1]) - 1
            self._say(
                code,
                b"elsewhere",
                Location=f"/redirect/{code}/{left}" if left else "/echo?redirected",
            )

        def on_relative(self, rest: list[str], body: bytes) -> None:
            self._say(302, Location="../../echo?relative#there")

        def on_loop(self, rest: list[str], body: bytes) -> None:
            self._say(302, Location="/loop")

        def on_headers(self, rest: list[str], body: bytes) -> None:
            self.send_response(200)
            for name, value in (
                ("X-Double", "1"),
                ("x-double", "2"),
                ("X-Empty", ""),
                ("Content-Length", "0"),
            ):
                self.send_header(name, value)
            self.end_headers()

        def on_cut(self, rest: list[str], body: bytes) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
            self.close_connection = True

        def on_cut_chunks(self, rest: list[str], body: bytes) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            self.close_connection = True

        def on_garbage(self, rest: list[str], body: bytes) -> None:
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True

        def on_nothing(self, rest: list[str], body: bytes) -> None:
            self.close_connection = True

        def on_until_close(self, rest: list[str], body: bytes) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nuntil it is closed")
            self.close_connection = True

        def on_hang(self, rest: list[str], body: bytes) -> None:
            self.close_connection = True
            until = time.monotonic() + 120
            # Who has gone keeps no place of those who come.
            while time.monotonic() < until and not asked.end.wait(0.1):
                try:
                    heard, _, _ = select.select([self.connection], [], [], 0)
                    if heard and not self.connection.recv(1, socket.MSG_PEEK):
                        break
                except OSError:
                    break

        def on_hang_after(self, rest: list[str], body: bytes) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
            self.on_hang(rest, body)

        def on_slow(self, rest: list[str], body: bytes) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in (b"first ", b"second ", b"third"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
                time.sleep(0.5)
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    return Handler


@contextlib.contextmanager
def asked_server():
    made = AskedServer()
    try:
        yield made
    finally:
        made.close()

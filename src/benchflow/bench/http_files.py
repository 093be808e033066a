"""A web server of this run that guests reach, and that serves badly on purpose.

It listens on the loopback of where the checks run, which a guest with `Nic(restrict=False)` finds
as 10.0.2.2. What is served is a folder whose name no image can know.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

#: Where a guest on a user-mode network finds this host's loopback.
HOST = "10.0.2.2"
HOLD_SECONDS = 900.0
PIECES_MAX = 400
ASKED_MAX = 100_000
CONNECTIONS_MAX = 256


class HttpFiles:
    """`files` are served by their paths on the server; `asked` are the paths that were asked for.

    To serve badly, by path: `cut`, the number of bytes after which the connection ends; `stalled`,
    the number after which nothing comes until `let_go`; `slow`, (bytes at a time, seconds between
    them). `held`: the paths whose requests wait for `let_go` before they are answered (they are in
    `asked` before that), or a function that says which. `down`: everything but marks is answered
    with 503.
    """

    def __init__(self, host: str = HOST, *, keep_alive: bool = True) -> None:
        self.host = host
        self.folder = secrets.token_hex(6)
        self.files: dict[str, bytes | Path] = {}
        self.asked: list[str] = []
        self.cut: dict[str, int] = {}
        self.stalled: dict[str, int] = {}
        self.slow: dict[str, tuple[int, float]] = {}
        self.held: Callable[[str], bool] | Collection[str] = ()
        self.down = False
        self._go = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self, keep_alive))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """On 127.0.0.1; the guest's too."""
        return int(self._server.server_address[1])

    @property
    def root(self) -> str:
        """The server, as a guest names it."""
        return f"http://{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The folder with the files, as a guest names it; no slash at its end."""
        return f"{self.root}/{self.folder}"

    def place(self, name: str) -> str:
        """The path on the server of one of the folder's files."""
        return f"/{self.folder}/{name}"

    def put(self, name: str, data: bytes | Path) -> None:
        """Serve something in the folder, in place of what was there."""
        self.files[self.place(name)] = data

    def remove(self, name: str) -> None:
        """Serve it no longer."""
        self.files.pop(self.place(name), None)

    def fetched(self, suffix: str) -> list[str]:
        """The file names with this ending that were asked for, in order, repeats included."""
        return [path.rpartition("/")[2] for path in self.asked if path.endswith(suffix)]

    def mark(self, word: str) -> str:
        """A URL by which something in the guest can say that it got that far."""
        return f"{self.root}/mark/{word}"

    def marked(self, word: str) -> bool:
        """Whether it said so since `asked` was last cleared."""
        return f"/mark/{word}" in self.asked

    def is_held(self, path: str) -> bool:
        """Whether a request for a path waits."""
        return self.held(path) if callable(self.held) else path in self.held

    def let_go(self) -> None:
        """Answer what is held, send what is slow at once, and hold nothing from now on."""
        self.held = ()
        self._go.set()
        self._go = threading.Event()

    def calm(self) -> None:
        """Serve all well again."""
        self.cut, self.stalled, self.slow, self.down = {}, {}, {}, False
        self.let_go()

    def close(self) -> None:
        """Answer what waits, and stop."""
        self.let_go()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Each connection has a thread; a guest that opens them without end gets no more of them."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._room = threading.BoundedSemaphore(CONNECTIONS_MAX)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A guest that hangs up is nobody's error."""


def _handler(served: HttpFiles, keep_alive: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = HOLD_SECONDS

        def do_HEAD(self) -> None:
            self._begin(self._found(unquote(self.path[:500])))

        def do_GET(self) -> None:
            go, path = served._go, unquote(self.path[:500])
            if len(served.asked) < ASKED_MAX:
                served.asked.append(path)
            if served.is_held(path):
                self.close_connection = True
                go.wait(HOLD_SECONDS)
            data = self._found(path)
            self._begin(data)
            self._send(path, data or b"", go)

        def _found(self, path: str) -> bytes | None:
            if path.startswith("/mark/"):
                return b"go\n"
            held = None if served.down else served.files.get(path)
            return held.read_bytes() if isinstance(held, Path) else held

        def _begin(self, data: bytes | None) -> None:
            down = served.down and data is None
            self.send_response(200 if data is not None else 503 if down else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            if not keep_alive:
                self.close_connection = True
                self.send_header("Connection", "close")
            self.end_headers()

        def _send(self, path: str, data: bytes, go: threading.Event) -> None:
            body = data[: served.cut.get(path)]
            size, pause = served.slow.get(path, (served.stalled.get(path), HOLD_SECONDS))
            if size is not None or len(body) < len(data):
                self.close_connection = True
            for _ in range(PIECES_MAX if size is not None else 0):
                self.wfile.write(body[:size])
                body = body[size:]
                if not body or go.wait(pause):
                    break
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Nothing on standard error."""

    return Handler

"""A repository of this run: made, signed, served, and badly served on purpose."""

from __future__ import annotations

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from form import Package, index

from benchflow.boot import ed25519

HOST = "10.0.2.2"  # where a guest on a user-mode network finds this host's loopback
HOLD_SECONDS = 600.0
ASKED_MAX = 100_000


class Repository:
    """What the guests find at `url`, what they asked for, and how they are treated.

    `cut`: path to the number of bytes after which the line falls silent for good. `held`: paths
    whose requests wait until `release` (the requests are in `asked` before that).
    """

    def __init__(self) -> None:
        self.seed = secrets.token_bytes(32)
        self.serial = 1000 + secrets.randbelow(100000)
        self.folder = secrets.token_hex(6)
        self.files: dict[str, bytes] = {}
        self.packages: dict[str, tuple[Package, bytes]] = {}
        self.asked: list[str] = []
        self.cut: dict[str, int] = {}
        self.held: set[str] = set()
        self._go = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def root(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/{self.folder}"

    @property
    def key(self) -> str:
        return ed25519.public(self.seed).hex()

    def sign(self, data: bytes) -> bytes:
        return ed25519.sign(self.seed, data)

    def put(self, name: str, data: bytes) -> None:
        self.files[f"/{self.folder}/{name}"] = data

    def offer(self, *packages: Package) -> None:
        """Add packages, or newer versions of them, and publish."""
        for package in packages:
            self.packages[package.name] = (package, package.pack())
        self.publish()

    def withdraw(self, *names: str) -> None:
        for name in names:
            self.packages.pop(name, None)
        self.publish()

    def publish(self) -> None:
        """A new index of all packages, with a higher serial."""
        self.serial += 1 + secrets.randbelow(9)
        self.files.clear()
        for package, data in self.packages.values():
            self.put(package.file_name, data)
        self.put_index(index(self.packages.values(), self.serial))

    def put_index(self, data: bytes, signature: bytes | None = None) -> None:
        self.put("INDEX", data)
        self.put("INDEX.sig", self.sign(data) if signature is None else signature)

    def swap(self, package: Package, data: bytes) -> None:
        """Serve something else under a package's name; the index stays."""
        self.put(package.file_name, data)

    def fetched(self) -> list[str]:
        """The packages that were asked for since `asked` was last cleared."""
        names = (path.rpartition("/")[2] for path in self.asked)
        return sorted({name for name in names if name.endswith(".pkg")})

    def mark(self, word: str) -> str:
        """A URL by which something in the guest can say that it got that far."""
        return f"{self.root}/mark/{word}"

    def marked(self, word: str) -> bool:
        return f"/mark/{word}" in self.asked

    def release(self) -> None:
        """Answer the requests that are held."""
        self.held.clear()
        self._go.set()
        self._go = threading.Event()

    def close(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A guest that hangs up is nobody's error."""


def _handler(repository: Repository) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            go = repository._go
            path = self.path
            if len(repository.asked) < ASKED_MAX:
                repository.asked.append(path)
            if path in repository.held:
                go.wait(HOLD_SECONDS)
            data = repository.files.get(path)
            if path.startswith("/mark/"):
                data = b"go\n"
            self.close_connection = True
            self.send_response(200 if data is not None else 404)
            body = data or b""
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            end = repository.cut.get(path, len(body))
            self.wfile.write(body[:end])

        def log_message(self, *arguments: object) -> None:
            """Nothing on standard error."""

    return Handler

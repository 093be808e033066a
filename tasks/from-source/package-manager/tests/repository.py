"""A repository of this run: made, signed, served, and badly served on purpose."""

from __future__ import annotations

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from form import Package, index

from benchflow.boot.inspect import ed25519

HOLD_SECONDS = 600.0
PIECES_MAX = 400
ASKED_MAX = 100_000


class Repository:
    """What the guests find at `url`, what they asked for, and how they are treated.

    `host`: where a guest finds this host's loopback. `cut`: path to the number of bytes after which
    the connection ends. `held`: paths whose requests wait until `release` (they are in `asked`
    before that). `stalled`: path to the number of bytes after which nothing comes until then.
    `slow`: path to (bytes at a time, seconds between them), until then.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.seed = secrets.token_bytes(32)
        self.serial = 1000 + secrets.randbelow(100000)
        self.folder = secrets.token_hex(6)
        self.files: dict[str, bytes] = {}
        self.packages: dict[str, tuple[Package, bytes]] = {}
        self.asked: list[str] = []
        self.cut: dict[str, int] = {}
        self.held: set[str] = set()
        self.stalled: dict[str, int] = {}
        self.slow: dict[str, tuple[int, float]] = {}
        self._go = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def root(self) -> str:
        return f"http://{self.host}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/{self.folder}"

    @property
    def key(self) -> str:
        return ed25519.public(self.seed).hex()

    def sign(self, data: bytes) -> bytes:
        return ed25519.sign(self.seed, data)

    def put(self, name: str, data: bytes) -> None:
        self.files[self.place(name)] = data

    def offer(self, *packages: Package) -> None:
        """Add packages, or newer versions of them, and publish."""
        for package in packages:
            self.packages[package.name] = (package, package.pack())
        self.publish()

    def place(self, name: str) -> str:
        """The path of one of the repository's files on the server."""
        return f"/{self.folder}/{name}"

    def only(self, *packages: Package) -> None:
        """Offer these and nothing else, and serve it all well again."""
        self.calm()
        self.packages.clear()
        self.offer(*packages)

    def calm(self) -> None:
        """Serve all well again."""
        self.cut, self.stalled, self.slow = {}, {}, {}
        self.release()

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
        """Answer the requests that are held, and send what is slow at once."""
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

        def do_HEAD(self) -> None:
            self._head(self._found())

        def do_GET(self) -> None:
            go = repository._go
            path = self.path
            if len(repository.asked) < ASKED_MAX:
                repository.asked.append(path)
            if path in repository.held:
                go.wait(HOLD_SECONDS)
            data = self._found()
            self._head(data)
            body = (data or b"")[: repository.cut.get(path)]
            size, pause = repository.slow.get(path, (repository.stalled.get(path), HOLD_SECONDS))
            for _ in range(PIECES_MAX if size is not None else 0):
                self.wfile.write(body[:size])
                body = body[size:]
                if not body or go.wait(pause):
                    break
            self.wfile.write(body)

        def _found(self) -> bytes | None:
            if self.path.startswith("/mark/"):
                return b"go\n"
            return repository.files.get(self.path)

        def _head(self, data: bytes | None) -> None:
            self.close_connection = True
            self.send_response(200 if data is not None else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Nothing on standard error."""

    return Handler

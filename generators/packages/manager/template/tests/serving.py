"""The repositories of this run, on a web server that guests reach, and that serves badly too."""

from __future__ import annotations

import re
import secrets
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import forms
from forms import Package
from ordered import AXES, CONF, has

from benchflow.boot.inspect import ed25519

_CONNECTIONS, _ASKED = 64, 20_000


class Repositories:
    """Up to `count` folders of packages, each with an index signed by the key of this run.

    `asked` are the paths that were asked for, with the first byte that was wanted. To serve badly:
    `cut` and `stalled`, by the end of a path the number of bytes after which it ends or nothing
    more comes; `held`, ends of paths whose answers wait for `go`.
    """

    def __init__(self, host: str, count: int) -> None:
        self.host, self.seed = host, secrets.token_bytes(32)
        self.token = secrets.token_hex(10)
        self.folders = [secrets.token_hex(5) for _ in range(count)]
        self.packages: list[dict[str, tuple[Package, bytes]]] = [{} for _ in range(count)]
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, int]] = []
        self.cut: dict[str, int] = {}
        self.stalled: dict[str, int] = {}
        self.held: set[str] = set()
        self.go = threading.Event()
        self.serial = 100
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def root(self) -> str:
        return f"http://{self.host}:{self._server.server_address[1]}"

    def conf(self) -> str:
        """The station's configuration."""
        sign = AXES["conf_sign"]
        rows = [("repository", f"{self.root}/{folder}") for folder in self.folders]
        rows.append(("key", ed25519.public(self.seed).hex()))
        rows += [("token", self.token)] if has("token") else []
        return "# The repositories of this station\n" + "".join(f"{a}{sign}{b}\n" for a, b in rows)

    def offer(self, *packages: Package, data: bytes | None = None) -> None:
        """Have packages in place of others of their names; `data` where a file is not what the
        package packs."""
        for one in packages:
            self.packages[one.repository][one.name] = (one, one.pack() if data is None else data)

    def withdraw(self, *names: str) -> None:
        for there in self.packages:
            for name in names:
                there.pop(name, None)

    def publish(self, seed: bytes | None = None) -> None:
        """Serve what is offered now, with indexes signed again and a higher serial."""
        self.serial += 1
        self.files = {}
        for folder, there in zip(self.folders, self.packages, strict=True):
            rows = [forms.row_of(*one) for one in there.values()]
            self.place_index(folder, forms.index(rows, self.serial), seed)
            for row, (package, data) in zip(rows, there.values(), strict=True):
                self.place_package(folder, package, row["digest"], data)

    def place_index(self, folder: str, text: bytes, seed: bytes | None = None) -> None:
        name = AXES["index_name"]
        for kind, data in forms.signed(text, seed or self.seed).items():
            ending = ".sig" if kind == "sig" else ".gz" if has("packed-index") else ""
            self.files[f"/{folder}/{name}{ending}"] = data

    def place_package(self, folder: str, package: Package, digest: str, data: bytes) -> None:
        path = f"/{folder}/{package.name}-{package.version.replace(':', '_')}.{AXES['ending']}"
        if has("pool"):
            path = f"/{folder}/pool/{digest[:2]}/{digest}"
        if not has("pieces"):
            self.files[path] = data
            return
        size = int(AXES["piece"])
        for at in range(-(-len(data) // size)):
            self.files[f"{path}.{at}"] = data[at * size : (at + 1) * size]

    def exchange(self, package: Package, data: bytes) -> None:
        """Serve something else in place of a package's file, and change nothing of the index."""
        digest = forms.digest(self.packages[package.repository][package.name][1])
        self.place_package(self.folders[package.repository], package, digest, data)

    def path_of(self, package: Package) -> str:
        """Where a package's file, or its first piece, is asked for."""
        data = self.packages[package.repository][package.name][1]
        digest = forms.digest(data)
        path = f"/{self.folders[package.repository]}/"
        if has("pool"):
            path += f"pool/{digest[:2]}/{digest}"
        else:
            path += f"{package.name}-{package.version.replace(':', '_')}.{AXES['ending']}"
        return path + (".0" if has("pieces") else "")

    def fetched(self, package: Package) -> bool:
        return any(path == self.path_of(package) for path, _ in self.asked)

    def calm(self) -> None:
        """Serve all well again."""
        self.cut, self.stalled, self.held = {}, {}, set()
        self.go.set()
        self.go = threading.Event()

    def close(self) -> None:
        self.calm()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self._room = threading.BoundedSemaphore(_CONNECTIONS)

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
        """A guest that hangs up is nobody's error."""


def _handler(served: Repositories) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 600

        def do_GET(self) -> None:
            path, go = self.path[:300], served.go
            self.close_connection = True
            if has("moved") and not path.startswith("/moved/"):
                self.answer(302, b"", {"Location": f"{served.root}/moved{path}"})
                return
            path = path.removeprefix("/moved") if has("moved") else path
            wanted = re.fullmatch(r"bytes=(\d{1,9})-", self.headers.get("Range", ""))
            start = int(wanted[1]) if wanted else 0
            if len(served.asked) < _ASKED:
                served.asked.append((path, start))
            if has("token") and self.headers.get(AXES["token_header"], "") != served.token:
                self.answer(403, b"")
                return
            if any(path.endswith(end) for end in served.held):
                go.wait(600)
            data = served.files.get(path)
            if data is None:
                self.answer(404, b"")
            elif wanted and has("resume"):
                total = len(data)
                more = {"Content-Range": f"bytes {start}-{total - 1}/{total}"}
                self.answer(206 if start < total else 416, data[start:], more, path, go)
            else:
                self.answer(200, data, {}, path, go)

        def answer(self, status, data, more=None, path="", go=None) -> None:
            self.send_response(status)
            for name, value in {**(more or {}), "Content-Length": len(data)}.items():
                self.send_header(name, str(value))
            self.send_header("Connection", "close")
            self.end_headers()
            cut = next((n for end, n in served.cut.items() if path.endswith(end)), None)
            late = next((n for end, n in served.stalled.items() if path.endswith(end)), None)
            if late is not None:
                self.wfile.write(data[:late])
                self.wfile.flush()
                go.wait(600)
                data = data[late:]
            self.wfile.write(data if cut is None else data[:cut])
            self.wfile.flush()
            if cut is not None:
                self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *arguments) -> None:
            """Nothing on standard error."""

    return Handler


CONF_PATH = CONF

"""An archive of this run: delivered packages and the bench's, signed anew, or badly on purpose.

Served on the host's loopback, where a station finds it as 10.0.2.2.
"""

from __future__ import annotations

import hashlib
import posixpath
import secrets
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from debs import Deb, stanza
from delivered import INDEX, KEY_OF, SUITES, Suite

from benchflow.boot.inspect.openpgp import Key

HOST = "10.0.2.2"
HOLD_SECONDS = 900.0
ASKED_MAX = 100_000
CONNECTIONS_MAX = 64
# The stations' clock is ahead of ours, by up to a year, so that what is published now can be later
# than what was delivered a moment ago, and never lies in their future.
AHEAD = (20 + secrets.randbelow(330)) * 86400
# What apt compares with what an archive said before, or weighs it by, stays what it was.
_AS_DELIVERED = ("Label", "NotAutomatic", "ButAutomaticUpgrades")
_ORIGIN = {"holm": "Holm", "base": "Debian"}
_VERSION = {"alke": "1.0", "bris": "2.0", "bookworm": "12"}


class Publisher:
    """`keys` and `suites` by name. `mark(word)` is a URL by which a guest says how far it is."""

    def __init__(self, keys: dict[str, Key], suites: dict[str, Suite]) -> None:
        self.keys = keys
        self.suites = suites
        self.folder = secrets.token_hex(6)
        self.files: dict[str, bytes] = {}
        self.own: dict[str, dict[str, Deb]] = {name: {} for name in SUITES}
        self.asked: list[str] = []
        self.held: Callable[[str], bool] = lambda path: False
        self.down = False
        self.cut: dict[str, int] = {}
        self._clock = time.time() + 86400
        self._go = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def copy(self) -> Publisher:
        """Another one, at a port of its own, that offers and serves what this one does now."""
        made = Publisher(self.keys, self.suites)
        made.folder, made._clock = self.folder, self._clock
        made.files = dict(self.files)
        made.own = {suite: dict(debs) for suite, debs in self.own.items()}
        return made

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, archive: str) -> str:
        return f"http://{HOST}:{self.port}/{self.folder}/{archive}"

    def path(self, suite: str, name: str = "") -> str:
        return f"/{self.folder}/{SUITES[suite]}/{name}"

    def deliver(self, suite: str, files: dict[str, bytes]) -> None:
        """Serve files of the delivered archive as they are."""
        self.files.update((self.path(suite, name), data) for name, data in files.items())

    def offer(self, suite: str, *debs: Deb) -> None:
        """Add packages of ours, or another version of them; `publish` makes it known."""
        for deb in debs:
            self.own[suite][deb.name] = deb

    def index(self, suite: str) -> str:
        """The index of what is offered; the packages are put into place."""
        paragraphs = []
        for package in self.suites[suite].packages.values():
            if package.name not in self.own[suite]:
                self.files[self.path(suite, package.path)] = package.data
                paragraphs.append(package.paragraph.strip("\n") + "\n")
        for deb in self.own[suite].values():
            data, place = deb.pack(), f"pool/bench/{deb.file_name}"
            self.files[self.path(suite, place)] = data
            paragraphs.append(stanza(deb.control, place, data))
        return "\n".join(paragraphs)

    def release(self, suite: str, index: str, *, valid_for: float | None = None,
                date: float | None = None, **changed: str) -> str:  # fmt: skip
        """A Release for `index`, later than each one before unless `date` says otherwise."""
        self._clock += 600
        when = self._clock if date is None else date
        said = {"Origin": _ORIGIN[SUITES[suite]],
                "Suite": suite, "Codename": suite, "Version": _VERSION[suite],
                "Date": formatdate(when, usegmt=True)}  # fmt: skip
        delivered = self.suites[suite].release
        said |= {n: delivered[n.lower()] for n in _AS_DELIVERED if delivered.get(n.lower())}
        if valid_for is not None:
            said["Valid-Until"] = formatdate(when + valid_for, usegmt=True)
        said.update(changed)
        said |= {"Architectures": "amd64", "Components": "main"}
        data = index.encode()
        digest = f"SHA256:\n {hashlib.sha256(data).hexdigest()} {len(data)} {INDEX}\n"
        return "".join(f"{name}: {value}\n" for name, value in said.items()) + digest

    def publish(self, suite: str, *, key: Key | None = None, text: str = "", **how) -> str:
        """Sign and serve what is offered, by the suite's key or another; returns the Release."""
        index = self.index(suite)
        text = text or self.release(suite, index, **how)
        self.put(suite, f"dists/{suite}/{INDEX}", index.encode())
        self.put(
            suite, f"dists/{suite}/InRelease", (key or self.keys[KEY_OF[suite]]).clearsigned(text)
        )
        for name in ("Release", "Release.gpg"):
            self.files.pop(self.path(suite, f"dists/{suite}/{name}"), None)
        return text

    def publish_all(self, *suites: str) -> None:
        for suite in suites:
            self.publish(suite)

    def served(self, *suites: str) -> dict[str, bytes]:
        """What is served now of these suites' Releases and indexes."""
        names = [(s, f"dists/{s}/{name}") for s in suites for name in ("InRelease", INDEX)]
        return {self.path(*name): self.files[self.path(*name)] for name in names}

    def put(self, suite: str, name: str, data: bytes) -> None:
        self.files[self.path(suite, name)] = data

    def take_away(self, suite: str) -> None:
        """The suite is not to be had any more, until it is published again."""
        for path in [p for p in self.files if p.startswith(self.path(suite, f"dists/{suite}/"))]:
            del self.files[path]

    def fetched(self) -> list[str]:
        """The names of the packages that were asked for."""
        return [path.rpartition("/")[2] for path in self.asked if path.endswith(".deb")]

    def mark(self, word: str) -> str:
        return f"/mark/{word}"

    def marked(self, word: str) -> bool:
        return self.mark(word) in self.asked

    def release_held(self) -> None:
        """Answer what waits."""
        self.held = lambda path: False
        self._go.set()
        self._go = threading.Event()

    def close(self) -> None:
        self.release_held()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Each connection has a thread; a guest that opens them without end gets no more of them."""

    daemon_threads = True

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self._room = threading.BoundedSemaphore(CONNECTIONS_MAX)

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

    def handle_error(self, request: object, client_address: object) -> None:
        """A guest that hangs up is nobody's error."""


def _handler(publisher: Publisher) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 900

        def do_GET(self) -> None:
            go, path = publisher._go, posixpath.normpath(unquote(self.path[:500]))
            if len(publisher.asked) < ASKED_MAX:
                publisher.asked.append(path)
            if publisher.held(path):
                self.close_connection = True
                go.wait(HOLD_SECONDS)
            mark = path.startswith("/mark/")
            body = b"go\n" if mark else publisher.files.get(path)
            if publisher.down and not mark:
                self.send_response(503)
                body = b""
            else:
                self.send_response(200 if body is not None else 404)
            body = body or b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            end = publisher.cut.get(path, len(body))
            if end < len(body):
                self.close_connection = True
            self.wfile.write(body[:end])

        def log_message(self, *arguments: object) -> None:
            """Nothing on standard error."""

    return Handler

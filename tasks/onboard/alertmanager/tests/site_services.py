"""What alerts are sent to: webhooks with three ways to log in, a token endpoint, a mail server."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import ssl
import threading
import time
import urllib.parse
from abc import ABC, abstractmethod
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from benchflow.bench.local_service import free_port
from benchflow.bench.mail_sink import Mail

BODY_MAX, TAKEN_MAX, CONNECTIONS_MAX = 1 << 20, 3000, 64
TOKEN_SECONDS = 40


@dataclass(frozen=True)
class Told:
    """A notification that was taken: when, with which headers (small names), and what it says."""

    at: float
    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        """Its JSON object; an empty one where it is none."""
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(self.body)
            if isinstance(said, dict):
                return said
        return {}

    @property
    def alerts(self) -> list[dict[str, Any]]:
        """Those that it tells, as far as they have labels."""
        found = self.said.get("alerts")
        some = found if isinstance(found, list) else []
        return [
            one for one in some if isinstance(one, dict) and isinstance(one.get("labels"), dict)
        ]

    def tells(self, name: str, status: str = "firing") -> bool:
        """Whether an alert of this name is among them."""
        return any(
            one["labels"].get("alertname") == name and one.get("status") == status
            for one in self.alerts
        )


class Web(ABC):
    """An HTTPS server on the loopback. `answer` is given path, headers and body of each request,
    and gives a status and a JSON answer; while it is `away`, connections are closed."""

    def __init__(self) -> None:
        self.port = free_port()
        self.context: ssl.SSLContext
        self.away = False
        self.broken_handshakes = 0
        self._server: _Server | None = None

    @abstractmethod
    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, object]: ...

    def start(self) -> None:
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class Tokens(Web):
    """The token endpoint of OAuth 2: by client credentials, in either place that RFC 6749 has."""

    def __init__(self) -> None:
        super().__init__()
        self.client, self.secret, self.scope = "", "", ""
        self.given: dict[str, float] = {}

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, object]:
        form = dict(urllib.parse.parse_qsl(body.decode("utf-8", "replace")))
        basic = _basic(headers.get("authorization", ""))
        if basic is not None:
            # RFC 6749, 2.3.1: both are form-encoded before.
            client, secret = (urllib.parse.unquote_plus(part) for part in basic)
        else:
            client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if (client, secret) != (self.client, self.secret) or path != "/token":
            return 401, {"error": "invalid_client"}
        if form.get("grant_type") != "client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        if form.get("scope") != self.scope:
            return 400, {"error": "invalid_scope"}
        token = secrets.token_urlsafe(24)
        if len(self.given) < TAKEN_MAX:
            self.given[token] = time.monotonic() + TOKEN_SECONDS
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_SECONDS}

    def knows(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and self.given.get(token, 0) > time.monotonic()


class Hook(Web):
    """A webhook; `knows` says of an Authorization header whether it is the right one."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.taken: list[Told] = []
        self.refused = 0
        self.knows: Any = lambda _authorization: False

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, object]:
        if path != self.path or not self.knows(headers.get("authorization", "")):
            self.refused += 1
            return 401, {}
        if len(self.taken) < TAKEN_MAX and sum(len(t.body) for t in self.taken) < 64 << 20:
            self.taken.append(Told(time.monotonic(), headers, body))
        return 200, {}

    def telling(self, name: str, status: str = "firing") -> list[Told]:
        """The notifications that tell an alert of this name."""
        return [one for one in tuple(self.taken) if one.tells(name, status)]


class MailServer:
    """SMTP that wants STARTTLS, and then a log-in."""

    def __init__(self) -> None:
        self.port = free_port()
        self.context: ssl.SSLContext
        self.user, self.password = "", ""
        self.mails: list[Mail] = []
        self.refused = 0
        self._controller: Controller | None = None

    def _knows(self, _server: Any, _session: Any, _envelope: Any, _way: str, given: Any) -> Any:
        wanted = (self.user.encode(), self.password.encode())
        known = isinstance(given, LoginPassword) and (given.login, given.password) == wanted
        self.refused += not known
        return AuthResult(success=known, handled=False)

    async def handle_DATA(self, _server: Any, session: Any, envelope: Any) -> str:
        if session.ssl is None or not session.authenticated:
            return "530 not without TLS and a log-in"
        if len(self.mails) >= TAKEN_MAX or sum(len(m.data) for m in self.mails) > 64 << 20:
            return "452 full"
        self.mails.append(
            Mail(str(envelope.mail_from), tuple(envelope.rcpt_tos), bytes(envelope.content))
        )
        return "250 taken"

    def start(self) -> None:
        self._controller = Controller(
            self,
            hostname="127.0.0.1",
            port=self.port,
            tls_context=self.context,
            require_starttls=True,
            auth_required=True,
            auth_require_tls=True,
            # Its way to ask for LOGIN is not the one that Alertmanager knows.
            auth_exclude_mechanism=["LOGIN"],
            authenticator=self._knows,
            data_size_limit=BODY_MAX,
            ident="bench",
        )
        self._controller.start()

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def telling(self, name: str) -> list[Mail]:
        """The mails that have a word in their subject."""
        return [mail for mail in tuple(self.mails) if name in _subject(mail)]


def _subject(mail: Mail) -> str:
    # A guest wrote it: the email package raises errors of a dozen kinds at what is no mail.
    with contextlib.suppress(Exception):
        return str(mail.message["Subject"])
    return ""


def basic(user: str, password: str) -> str:
    """An Authorization header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _basic(authorization: str) -> tuple[str, str] | None:
    kind, _, text = authorization.partition(" ")
    if kind.lower() != "basic":
        return None
    with contextlib.suppress(ValueError):
        user, _, password = base64.b64decode(text).decode().partition(":")
        return user, password
    return "", ""


class _Server(ThreadingHTTPServer):
    """Each connection has a thread; a guest that opens them without end gets no more of them."""

    daemon_threads = True
    allow_reuse_address = True

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


def _handler(web: Web) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def setup(self) -> None:
            if web.away:
                raise ConnectionAbortedError
            self.request.settimeout(60)
            try:
                self.request = web.context.wrap_socket(self.request, server_side=True)
            except OSError:
                web.broken_handshakes += 1
                raise
            super().setup()

        def do_POST(self) -> None:
            # One request a connection: what is said of the server holds for the next one at once.
            self.close_connection = True
            body = self._body()
            if body is None:
                return self.send_error(413)
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, said = web.answer(self.path, headers, body)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)
            return None

        def finish(self) -> None:
            super().finish()
            self.request.close()

        def _body(self) -> bytes | None:
            if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
                length = self.headers.get("Content-Length", "0")
                whole = length.isdecimal() and len(length) < 9 and int(length) <= BODY_MAX
                return self.rfile.read(int(length)) if whole else None
            body = b""
            while len(body) <= BODY_MAX:
                size = int(self.rfile.readline(20).partition(b";")[0], 16)
                if size == 0:
                    self.rfile.readline(3)
                    return body
                if not 0 < size <= BODY_MAX:
                    return None
                body += self.rfile.read(size)
                self.rfile.readline(3)
            return None

        def log_message(self, *arguments: object) -> None:
            """Nothing on standard error."""

    return Handler

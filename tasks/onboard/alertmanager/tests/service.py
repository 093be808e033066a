"""Alertmanager on a machine, asked from outside as its clients ask."""

from __future__ import annotations

import datetime
import http.client
import json
import secrets
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any, TypeVar

from site_services import basic

from benchflow.bench.guest import until
from benchflow.boot import GuestTimeout, Machine

T = TypeVar("T")

#: Root's, at the console.
PASSWORD = "Salt-Fjord-26"
PORT, NAME = 9093, "alerts.holm.example"
ANSWER_MAX = 4 << 20
READY_SECONDS, ANSWER_SECONDS = 240, 60
#: What the order gives an alert: usually, after a service or the other machine was away.
TOLD_SECONDS, LATE_SECONDS = 60, 120


class Service:
    """`port` is where the machine's is found, a new one at each start where it is None; `ca` what
    its certificate is by, `password` that of duty."""

    def __init__(self, machine: Machine, ca: bytes, password: str, port: int | None = None) -> None:
        self.machine = machine
        self.port = port
        self.password = password
        self._context = ssl.create_default_context(cadata=ca.decode())

    def ask(
        self, method: str, path: str, body: object = None, *, as_: tuple[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and JSON of an answer; an AssertionError where there is none."""
        try:
            return self._ask(method, path, body, as_)
        except (OSError, http.client.HTTPException) as error:
            said = f"{type(error).__name__}: {error}"
        raise AssertionError(f"{method} {path} was not answered: {said}")

    def _address(self) -> tuple[str, int]:
        return ("127.0.0.1", self.port) if self.port else self.machine.forward(PORT)

    def _ask(
        self, method: str, path: str, body: object, as_: tuple[str, str] | None
    ) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if as_:
            headers["Authorization"] = basic(*as_)
        seconds = max(1.0, self.machine.deadline(ANSWER_SECONDS).remaining())
        link = http.client.HTTPConnection(NAME, timeout=seconds)
        with socket.create_connection(self._address(), seconds) as plain:
            link.sock = self._context.wrap_socket(plain, server_hostname=NAME)
            try:
                link.request(method, path, None if body is None else json.dumps(body), headers)
                answer = link.getresponse()
                data = answer.read(ANSWER_MAX)
            finally:
                link.close()
        try:
            return answer.status, json.loads(data or b"null")
        except (ValueError, RecursionError):
            return answer.status, None

    def do(self, method: str, path: str, body: object = None) -> Any:
        """What is answered to duty, who has to get 200."""
        status, said = self.ask(method, f"/api/v2{path}", body, as_=("duty", self.password))
        assert status == 200, f"{method} {path}: {status} {str(said)[:200]}"
        return said

    def ready(self, seconds: float = READY_SECONDS) -> dict[str, Any]:
        """What it says of itself, waited for; GuestTimeout where it does not come."""
        deadline = self.machine.deadline(seconds)
        last = "nothing"
        while True:
            try:
                login = ("duty", self.password)
                status, said = self._ask("GET", "/api/v2/status", None, login)
                if status == 200 and isinstance(said, dict):
                    return said
                last = str(status)
            except (OSError, http.client.HTTPException) as error:
                last = f"{type(error).__name__}: {error}"
            if deadline.remaining() <= 0 or not self.machine.alive:
                raise GuestTimeout(f"{self.machine.name}: no answer at port {PORT}, last {last}")
            time.sleep(2)

    def plain(self) -> bytes:
        """What it answers to HTTP without TLS; nothing where it hangs up."""
        try:
            with socket.create_connection(self._address(), 30) as link:
                link.sendall(f"GET /api/v2/status HTTP/1.0\r\nHost: {NAME}\r\n\r\n".encode())
                return link.recv(4096)
        except OSError:
            return b""

    def fire(self, *alerts: dict[str, str], over: bool = False, timed: bool = True) -> None:
        """Alerts by their labels, as Prometheus sends them: firing for five minutes, or resolved.

        Not `timed`: they begin when they are taken. Of older ones Alertmanager tells the first at
        once (dispatch.go, aggrGroup.insert), whether or not the others of one request are there.
        """
        now = datetime.datetime.now(datetime.UTC)
        minute = datetime.timedelta(minutes=1)
        times = {
            "startsAt": (now - 5 * minute).isoformat(),
            "endsAt": (now - minute if over else now + 120 * minute).isoformat(),
        }
        self.do(
            "POST",
            "/alerts",
            [
                {"labels": labels, "annotations": {"word": secrets.token_hex(4)}}
                | (times if timed else {})
                for labels in alerts
            ],
        )

    def silence(self, name: str) -> str:
        """A silence of an alert, acknowledged; its identifier."""
        now = datetime.datetime.now(datetime.UTC)
        said = self.do(
            "POST",
            "/silences",
            {
                "matchers": [
                    {"name": "alertname", "value": name, "isRegex": False, "isEqual": True}
                ],
                "startsAt": (now - datetime.timedelta(minutes=1)).isoformat(),
                "endsAt": (now + datetime.timedelta(hours=4)).isoformat(),
                "createdBy": "bench",
                "comment": secrets.token_hex(4),
            },
        )
        return str(said.get("silenceID") if isinstance(said, dict) else None)

    def silences(self) -> set[str]:
        """The identifiers of the active ones."""
        said = self.do("GET", "/silences")
        found = said if isinstance(said, list) else []
        return {
            str(one.get("id"))
            for one in found
            if isinstance(one, dict) and (one.get("status") or {}).get("state") == "active"
        }

    def until(self, question: Callable[[], T], seconds: float, what: str) -> T:
        """The first true answer, waited for."""
        return until(self.machine, question, seconds, what)

    def rest(self, seconds: float) -> None:
        """So many reference seconds pass."""
        deadline = self.machine.deadline(seconds)
        while deadline.remaining() > 0:
            time.sleep(0.5)


def drawn(kind: str = "A") -> str:
    """A name for an alert."""
    return kind + secrets.token_hex(5)

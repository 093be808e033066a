"""Kinto on a machine, asked from outside as its clients ask."""

from __future__ import annotations

import base64
import http.client
import json
import time
from typing import Any

from benchflow.bench.mail_sink import Mail, MailSink
from benchflow.boot import GuestTimeout, Machine

#: Root's, at the console.
PASSWORD = "Salt-Fjord-26"
PORT = 8888
ANSWER_MAX = 4 << 20
READY_SECONDS, ANSWER_SECONDS, MAIL_SECONDS = 240, 120, 60


class Service:
    """`port` is where the machine's is found, a new one at each start where it is None; `admin`
    the password that it has now."""

    def __init__(self, machine: Machine, admin: str, port: int | None = None) -> None:
        self.machine = machine
        self.port = port
        self.admin = admin

    def ask(
        self, method: str, path: str, body: object = None, *, as_: tuple[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and JSON of an answer; an AssertionError where there is none."""
        try:
            return self._ask(method, path, body, as_)
        except (OSError, http.client.HTTPException) as error:
            said = f"{type(error).__name__}: {error}"
        raise AssertionError(f"{method} {path} was not answered: {said}")

    def _ask(
        self, method: str, path: str, body: object, as_: tuple[str, str] | None
    ) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if as_:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(as_).encode()).decode()
        address = ("127.0.0.1", self.port) if self.port else self.machine.forward(PORT)
        seconds = max(1.0, self.machine.deadline(ANSWER_SECONDS).remaining())
        link = http.client.HTTPConnection(*address, timeout=seconds)
        try:
            link.request(method, f"/v1{path}", None if body is None else json.dumps(body), headers)
            answer = link.getresponse()
            data = answer.read(ANSWER_MAX)
        finally:
            link.close()
        try:
            return answer.status, json.loads(data or b"null")
        except ValueError:
            return answer.status, None

    def do(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The same as the account admin."""
        return self.ask(method, path, body, as_=("admin", self.admin))

    def ready(self, seconds: float = READY_SECONDS) -> dict[str, Any]:
        """Its greeting, waited for; GuestTimeout where it does not come."""
        deadline = self.machine.deadline(seconds)
        while True:
            try:
                status, said = self._ask("GET", "/", None, None)
                if status == 200 and isinstance(said, dict):
                    return said
            except (OSError, http.client.HTTPException):
                pass
            if deadline.remaining() <= 0 or not self.machine.alive:
                raise GuestTimeout(f"{self.machine.name}: no answer at port {PORT}")
            time.sleep(2)

    def mail(self, sink: MailSink, word: str) -> Mail:
        """The mail that has `word` in it, waited for."""
        deadline = self.machine.deadline(MAIL_SECONDS)
        while not (found := sink.taken(word, 0)):
            assert deadline.remaining() > 0, f"no mail came in {MAIL_SECONDS} seconds [R8]"
            time.sleep(0.3)
        return found

    def collection(self, name: str, data: dict[str, object] | None = None) -> str:
        """A collection of a bucket of its own; its path."""
        path = f"/buckets/{name}/collections/{name}"
        for one, body in ((f"/buckets/{name}", None), (path, {"data": data or {}})):
            status, said = self.do("PUT", one, body)
            assert status in (200, 201), f"PUT {one}: {status} {str(said)[:200]} [R6]"
        return path

    def write(self, collection: str, name: str, data: dict[str, object]) -> None:
        """A record that has to be acknowledged."""
        status, said = self.do("PUT", f"{collection}/records/{name}", {"data": data})
        assert status in (200, 201), f"a record was answered by {status} {str(said)[:200]}"

    def read(self, collection: str, name: str) -> dict[str, Any]:
        """A record that has to be there."""
        status, said = self.do("GET", f"{collection}/records/{name}")
        assert status == 200, f"the record {name} was answered by {status}"
        return dict(said["data"])

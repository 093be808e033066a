"""The broker on a machine, asked from outside as its clients ask."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Callable
from typing import TypeVar

from mqtt import V3, V5, Client, Message, Refused
from site_data import Site

from benchflow.bench.guest import until
from benchflow.boot import GuestTimeout, Machine

T = TypeVar("T")

#: Root's, at the console.
PASSWORD = "Tide-Harbour-58"
PORT, NAME = 8883, "broker.holm.example"
READY_SECONDS = 240
#: What the order gives a message: here, to or from the office, and after one was away.
TOLD_SECONDS, LATE_SECONDS = 60, 120


class Service:
    """`port` is where the machine's is found, a new one at each start where it is None."""

    def __init__(self, machine: Machine, site: Site, port: int | None = None) -> None:
        self.machine, self.site, self.port = machine, site, port

    def address(self) -> tuple[str, int]:
        """Where the broker is found now."""
        return ("127.0.0.1", self.port) if self.port else self.machine.forward(PORT)

    def lets_in(self, login: tuple[str, str] | None, version: int = V3) -> bool:
        """Whether it lets somebody in; AssertionError where it is gone."""
        ca, deadline = self.site.authority.pem, self.machine.deadline
        made = Client(self.address, NAME, ca, login, deadline, version=version)
        try:
            made.connect()
        except AssertionError as error:
            if not isinstance(error, Refused):
                # Hung up on, which lets nobody in either.
                self.client(self.site.viewer).close()
            return False
        made.close()
        return True

    def client(
        self,
        user: str,
        *,
        version: int = V3,
        id: str = "",
        keep: bool = False,
        will: tuple[str, bytes] | None = None,
    ) -> Client:
        """A client of a user's, logged in."""
        login = (user, self.site.users[user][1])
        made = Client(
            self.address, NAME, self.site.authority.pem, login, self.machine.deadline,
            version=version, id=id, keep=keep, will=will,
        )  # fmt: skip
        return made.connect()

    def head(self, *, version: int = V3, id: str = "", keep: bool = False) -> Client:
        """A client at the head office's broker, whose user may do all there."""
        site = self.site
        login = (site.head, site.office.passwords[site.head])
        made = Client(
            lambda: ("127.0.0.1", site.office.port), "127.0.0.1", site.office_authority.pem, login,
            self.machine.deadline, version=version, id=id, keep=keep,
        )  # fmt: skip
        try:
            return made.connect()
        except AssertionError as error:
            if site.office.answers():
                raise
            raise site.office.broken(f"the office's broker does not answer: {error}") from None

    def ready(self, seconds: float = READY_SECONDS) -> None:
        """Waits until the operator can log in; GuestTimeout where that does not come."""
        deadline = self.machine.deadline(seconds)
        while True:
            try:
                self.client(self.site.operator).close()
                return
            except AssertionError as error:
                last = str(error)
            if deadline.remaining() <= 0 or not self.machine.alive:
                raise GuestTimeout(f"{self.machine.name}: no answer at port {PORT}, last {last}")
            time.sleep(2)

    def plain(self, said: bytes) -> bytes:
        """What it answers to bytes without TLS; nothing where it hangs up."""
        try:
            with socket.create_connection(self.address(), 30) as link:
                link.sendall(said)
                link.settimeout(10)
                return link.recv(4096)
        except OSError:
            return b""

    def until(self, question: Callable[[], T], seconds: float, what: str) -> T:
        """The first true answer, waited for."""
        return until(self.machine, question, seconds, what, every=0.1)

    def told(self, client: Client, topic: str, seconds: float = TOLD_SECONDS) -> Message:
        """The first message with this topic that a client was sent, waited for."""
        return self.until(lambda: client.of(topic), seconds, f"message {topic}")[0]

    def send(self, user: str, topic: str, payload: bytes = b"x") -> None:
        """A sealed message of a user's, who may be hung up on."""
        client = self.client(user, version=V5)
        with contextlib.suppress(AssertionError):
            client.publish(topic, payload, user=self.site.seal(topic, payload))
        client.close()

    def version(self) -> str:
        """What the broker says that it is."""
        operator = self.client(self.site.operator).subscribe("$SYS/broker/version")
        said = self.told(operator, "$SYS/broker/version").payload.decode("utf-8", "replace")
        operator.close()
        return said

    def passes_both_ways(self) -> None:
        """A station's word comes to the office, and a note from there to the station."""
        site, name = self.site, self.site.stations[-1]
        word, note = drawn(), drawn()
        head = self.head().subscribe(f"sites/{site.name}/#")
        self.client(name).publish(f"stations/{name}/{word}", word)
        self.told(head, f"sites/{site.name}/stations/{name}/{word}", LATE_SECONDS)
        reader = self.client(name).subscribe("notes/#")
        head.publish(f"sites/{site.name}/notes/{note}", note)
        self.told(reader, f"notes/{note}", LATE_SECONDS)
        head.close()

    def rest(self, seconds: float) -> None:
        """So many reference seconds pass."""
        deadline = self.machine.deadline(seconds)
        while deadline.remaining() > 0:
            time.sleep(0.2)


def drawn(kind: str = "w") -> str:
    """A word of this run."""
    return kind + secrets.token_hex(5)

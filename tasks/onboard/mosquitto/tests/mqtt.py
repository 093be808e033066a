"""MQTT clients of the verifier: paho's, each with a thread of its own, and what they were sent."""

from __future__ import annotations

import contextlib
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

V3, V5 = paho.MQTTv311, paho.MQTTv5
#: What one client keeps of what a machine sends it.
MESSAGES_MAX, BYTES_MAX = 20_000, 64 << 20
#: For one answer.
ANSWER_SECONDS = 60
_LINK_SECONDS = 60


class Deadline(Protocol):
    """What is left of a time."""

    def remaining(self) -> float: ...


@dataclass(frozen=True)
class Message:
    """One that a client was sent."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    #: User properties, in their order, and the other properties that it has, by paho's names.
    user: tuple[tuple[str, str], ...] = ()
    more: dict[str, object] = field(default_factory=dict)


class Refused(AssertionError):
    """The broker has said no to a log-in."""


class _Paho(paho.Client):
    """A client whose connection goes to `where`, whatever the name that its certificate is for."""

    where: Callable[[], tuple[str, int]]

    def _create_socket_connection(self) -> socket.socket:
        return socket.create_connection(self.where(), timeout=_LINK_SECONDS)


class Client:
    """One client. `where` says the address to connect to, `name` whom the certificate is for, by
    `ca`; `login` is a name and a password, `deadline` what a machine's is: seconds are reference
    seconds."""

    def __init__(
        self,
        where: Callable[[], tuple[str, int]],
        name: str,
        ca: bytes,
        login: tuple[str, str] | None,
        deadline: Callable[[float], Deadline],
        *,
        version: int = V3,
        id: str = "",
        keep: bool = False,
        will: tuple[str, bytes] | None = None,
    ) -> None:
        self.id = id or "c" + secrets.token_hex(6)
        self._version, self._name, self._keep = version, name, keep
        self._deadline = deadline
        clean = {} if version == V5 else {"clean_session": not keep}
        self._paho = _Paho(self.id, protocol=version, reconnect_on_failure=False, **clean)
        self._paho.where = where
        self._paho.tls_set_context(ssl.create_default_context(cadata=ca.decode()))
        if login:
            self._paho.username_pw_set(*login)
        if will:
            self._paho.will_set(*will, qos=1)
        self._paho.max_inflight_messages_set(100)
        self._paho.on_connect = self._connected
        self._paho.on_message = self._came
        self._paho.on_subscribe = lambda _c, _u, mid, *_: self._answers.add(mid)
        self._paho.on_publish = lambda _c, _u, mid: self._acknowledged.add(mid)
        self._said: int | None = None
        self._sent = 0
        self._answers: set[int] = set()
        self._acknowledged: set[int] = set()
        self._bytes = 0
        self.messages: list[Message] = []
        #: Whether the broker had this client's session.
        self.session_was_there = False

    def _connected(self, _c: object, _u: object, flags: object, code: object, *_: object) -> None:
        self.session_was_there = bool(isinstance(flags, dict) and flags.get("session present"))
        self._said = int(getattr(code, "value", code))  # type: ignore[call-overload]

    def _came(self, _c: object, _u: object, got: paho.MQTTMessage) -> None:
        self._bytes += len(got.payload)
        if len(self.messages) >= MESSAGES_MAX or self._bytes > BYTES_MAX:
            return
        said = vars(getattr(got, "properties", None) or object) if self._version == V5 else {}
        names = ("ContentType", "CorrelationData", "PayloadFormatIndicator", "ResponseTopic")
        user = tuple((str(a), str(b)) for a, b in said.get("UserProperty", ()))
        more = {name: said[name] for name in names if name in said}
        with contextlib.suppress(UnicodeDecodeError):
            message = Message(got.topic, bytes(got.payload), got.qos, bool(got.retain), user, more)
            self.messages.append(message)

    def connect(self, seconds: float = ANSWER_SECONDS) -> Client:
        """Log in. Raises Refused where the broker says no, AssertionError where it says nothing."""
        more: dict[str, object] = {}
        if self._version == V5:
            properties = Properties(PacketTypes.CONNECT)
            if self._keep:
                properties.SessionExpiryInterval = 0xFFFFFFFF
            more = {"clean_start": not self._keep, "properties": properties}
        try:
            self._paho.connect(self._name, 8883, keepalive=120, **more)
        except (OSError, ValueError) as error:
            raise AssertionError(f"no connection: {type(error).__name__}: {error}") from None
        self._paho.loop_start()
        deadline = self._deadline(seconds)
        while self._said is None and deadline.remaining() > 0:
            time.sleep(0.02)
        if self._said != 0:
            self.cut()
            if self._said is None:
                raise AssertionError("a log-in was not answered")
            raise Refused(f"a log-in was answered by {self._said}")
        return self

    def subscribe(self, topic: str, qos: int = 1) -> Client:
        """Ask for messages; AssertionError where that is not answered."""
        mid = self._paho.subscribe(topic, qos)[1]
        self._wait(lambda: mid in self._answers, f"{topic}: a subscription was not answered")
        return self

    def publish(
        self,
        topic: str,
        payload: bytes | str,
        qos: int = 1,
        *,
        retain: bool = False,
        user: tuple[tuple[str, str], ...] = (),
        more: dict[str, object] | None = None,
    ) -> None:
        """Send a message, acknowledged where `qos` is 1 or 2; AssertionError where it is not."""
        self.send(topic, payload, qos, retain=retain, user=user, more=more)
        self.settle()

    def send(
        self,
        topic: str,
        payload: bytes | str,
        qos: int = 1,
        *,
        retain: bool = False,
        user: tuple[tuple[str, str], ...] = (),
        more: dict[str, object] | None = None,
    ) -> None:
        """The same, not waited for until `settle`."""
        properties = None
        if self._version == V5:
            properties = Properties(PacketTypes.PUBLISH)
            if user:
                properties.UserProperty = list(user)
            for name, value in (more or {}).items():
                setattr(properties, name, value)
        info = self._paho.publish(topic, payload, qos, retain, properties)
        self._sent = info.mid

    def settle(self, seconds: float = ANSWER_SECONDS) -> None:
        """All that was sent is acknowledged, or written where it wants no acknowledgement."""
        self._wait(lambda: self._sent in self._acknowledged, "a message was not taken", seconds)
        left = self._paho._out_messages
        self._wait(lambda: not left, "messages were not taken", seconds)

    def of(self, topic: str) -> list[Message]:
        """What came with this topic."""
        return [one for one in list(self.messages) if one.topic == topic]

    def close(self) -> None:
        """Take leave as MQTT has it; a session that is kept stays at the broker."""
        self._paho.disconnect()
        if self._paho._thread is not None:
            self._paho._thread.join(10)
        self.cut()

    def cut(self) -> None:
        """Be gone without a word, so that a last will is told."""
        sock = self._paho.socket()
        if sock is not None:
            with contextlib.suppress(OSError):
                # TLS's own would have the thread stumble over it.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        self._paho.loop_stop()

    def _wait(
        self, question: Callable[[], object], what: str, seconds: float = ANSWER_SECONDS
    ) -> None:
        deadline = self._deadline(seconds)
        while not question():
            assert deadline.remaining() > 0, what
            time.sleep(0.02)


class Watching:
    """A TLS server in an impostor's place: how many bytes its clients have sent it inside of TLS,
    and how many have turned away."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self.bytes_told = self.turned_away = 0
        self._context = context
        self._server = socket.create_server(("127.0.0.1", port))
        self._server.settimeout(0.5)
        self._over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._over:
            with contextlib.suppress(OSError):
                link, _ = self._server.accept()
                threading.Thread(target=self._look, args=(link,), daemon=True).start()

    def _look(self, link: socket.socket) -> None:
        link.settimeout(30)
        try:
            with self._context.wrap_socket(link, server_side=True) as inside:
                said = inside.recv(4096)
            self.bytes_told += len(said)
            self.turned_away += not said
        except OSError:
            self.turned_away += 1
        finally:
            link.close()

    @property
    def tries(self) -> int:
        """How many connections came to an end, or told something."""
        return self.turned_away + self.bytes_told

    def stop(self) -> None:
        """The port is free afterwards."""
        self._over = True
        self._thread.join(5)
        self._server.close()

"""The broker that a verifier plays, and the certificates that it shows."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest
from tests.needs import needs

from benchflow.bench.mqtt_broker import Broker
from benchflow.bench.site_certificates import Authority

HERE = "127.0.0.1"


@pytest.fixture
@needs("mosquitto", "mosquitto_passwd", "root")
def broker() -> Iterator[tuple[Broker, Authority]]:
    authority = Authority("Bench")
    certificate, key, _ = authority.issue(HERE)
    made = Broker(certificate, key, {"one": ["readwrite a/#"]})
    made.start()
    yield made, authority
    made.close()


def log_in(broker: Broker, authority: Authority, name: str, password: str) -> int:
    """What a log-in by MQTT 3.1.1 is answered by, over TLS."""
    body = b"\x00\x04MQTT\x04\xc2\x00\x3c"
    for text in ("c", name, password):
        body += len(text).to_bytes(2, "big") + text.encode()
    context = ssl.create_default_context(cadata=authority.pem.decode())
    with (
        socket.create_connection((HERE, broker.port), 30) as link,
        context.wrap_socket(link, server_hostname=HERE) as inside,
    ):
        inside.sendall(b"\x10" + bytes([len(body)]) + body)
        said = inside.recv(4)
    assert said[:2] == b"\x20\x02"
    return said[3]


def test_it_takes_its_users_over_tls_and_nobody_else(broker: tuple[Broker, Authority]) -> None:
    made, authority = broker
    password = made.passwords["one"]
    assert log_in(made, authority, "one", password) == 0
    assert log_in(made, authority, "one", password[:-1]) == 5
    assert log_in(made, authority, "two", password) == 5
    made.stop()
    assert not made.answers()
    other = Authority("Other")
    made.use(*other.issue(HERE)[:2])
    made.let_in({"one": ["read a/#"]})
    made.start()
    assert made.passwords["one"] != password
    assert log_in(made, other, "one", password) == 5
    assert log_in(made, other, "one", made.passwords["one"]) == 0
    with pytest.raises(ssl.SSLCertVerificationError):
        log_in(made, authority, "one", made.passwords["one"])

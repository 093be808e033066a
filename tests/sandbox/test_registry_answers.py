"""Registries that are broken or hostile: each answer is bounded, shown plainly, and no credential
goes where it was not meant for."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.errors import InfrastructureError
from benchflow.sandbox.image import registry
from benchflow.sandbox.image.registry import Repository

CONFIG = json.dumps({"config": {"Labels": {"a": "b"}}}).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


MANIFEST = json.dumps({"config": {"digest": _digest(CONFIG)}}).encode()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Said:
    """A server that gives its answers one after another; `heard`: the requests."""

    def __init__(self, answers: list[bytes], pause: float) -> None:
        self.heard: list[str] = []
        self._answers, self._pause = answers, pause
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for said in self._answers:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                self.heard.append(client.recv(1 << 16).decode("latin-1"))
                step = 1 if self._pause else len(said) or 1
                for at in range(0, len(said), step):
                    client.sendall(said[at : at + step])
                    time.sleep(self._pause)

    def close(self) -> None:
        self._server.close()


@contextlib.contextmanager
def saying(*answers: bytes, pause: float = 0.0) -> Iterator[Said]:
    server = Said([*answers], pause)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(autouse=True)
def no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))


def credentials(tmp_path: Path, address: str) -> str:
    secret = base64.b64encode(b"me:open-sesame").decode()
    entry = {"auths": {address: {"auth": secret}}}
    (tmp_path / "auth.json").write_text(json.dumps(entry))
    return secret


def test_an_image_as_it_should_be() -> None:
    manifest = answer(MANIFEST, f"Docker-Content-Digest: {_digest(MANIFEST)}")
    with saying(manifest, answer(CONFIG)) as server:
        found = Repository(f"{server.address}/it").find("1")
    assert found is not None and found.digest == _digest(MANIFEST) and found.labels == {"a": "b"}


NESTED = b"[" * 200_000
NO_CONFIG = json.dumps({"config": {"digest": 5}}).encode()


@pytest.mark.parametrize(
    "answers",
    [
        [answer(MANIFEST, f"Docker-Content-Digest: {_digest(CONFIG)}")],
        [answer(MANIFEST, f"Docker-Content-Digest: {_digest(MANIFEST)}"), answer(MANIFEST)],
        [answer(MANIFEST)],
        [answer(NESTED, f"Docker-Content-Digest: {_digest(NESTED)}")],
        [answer(NO_CONFIG, f"Docker-Content-Digest: {_digest(NO_CONFIG)}")],
    ],
    ids=["another-manifest", "another-config", "no-digest", "nested", "number-for-a-digest"],
)
def test_what_is_no_image_of_that_digest_is_refused(answers: list[bytes]) -> None:
    with (
        saying(*answers) as server,
        pytest.raises(InfrastructureError, match="no image of this kind"),
    ):
        Repository(f"{server.address}/it").find("1")


@pytest.mark.parametrize(
    "said",
    [
        b"what?\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://a b/\r\nConnection: close\r\n\r\n",
        b"",
    ],
    ids=["no-http", "cut-off", "bad-chunk", "headers", "file", "bad-address", "nothing"],
)
def test_what_is_no_answer_is_an_error_of_the_infrastructure(said: bytes) -> None:
    with saying(said) as server, pytest.raises(InfrastructureError):
        Repository(f"{server.address}/it").find("1")


def test_an_answer_that_drips_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_SECONDS_IN_ALL", 0.5)
    began = time.monotonic()
    with (
        saying(answer(b"x" * 10_000), pause=0.005) as server,
        pytest.raises(InfrastructureError, match="does not answer, or was cut off"),
    ):
        Repository(f"{server.address}/it").find("1")
    assert time.monotonic() - began < 20


def test_tags_that_are_none_are_not_shown() -> None:
    tags = ["1.0", "\x1b]0;title\x07", "a b", "x" * 200, "", 7, None]
    with saying(answer(json.dumps({"tags": tags}).encode())) as server:
        assert Repository(f"{server.address}/it").tags() == ["1.0", "7", "None"]


@pytest.mark.parametrize(
    "realm",
    [
        "http://192.0.2.1/token",
        "https:///token",
        "file:///etc/passwd",
        "ftp://127.0.0.1/token",
        "http://127.0.0.1.example/token",
        "http://127.0.0.1@192.0.2.1/token",
        "",
    ],
)
def test_credentials_do_not_go_where_anybody_hears_them(tmp_path: Path, realm: str) -> None:
    challenge = f'WWW-Authenticate: Bearer realm="{realm}",service="it"'
    began = time.monotonic()
    with saying(answer(b"", challenge, status="401 Unauthorized")) as server:
        credentials(tmp_path, server.address)
        with pytest.raises(InfrastructureError, match="no place to ask for a token"):
            Repository(f"{server.address}/it").find("1")
    assert time.monotonic() - began < 10


def test_credentials_do_not_follow_a_redirect(tmp_path: Path) -> None:
    with saying(answer(b"", status="404 Not Found")) as elsewhere:
        with saying(
            answer(b"", 'WWW-Authenticate: Basic realm="it"', status="401 Unauthorized"),
            answer(b"", f"Location: http://{elsewhere.address}/x", status="307 Temporary"),
        ) as server:
            secret = credentials(tmp_path, server.address)
            assert Repository(f"{server.address}/it").find("1") is None
        assert secret in server.heard[1] and len(elsewhere.heard) == 1
        assert secret not in elsewhere.heard[0] and "Authorization" not in elsewhere.heard[0]


def test_what_was_asked_for_encrypted_is_not_fetched_otherwise() -> None:
    handler = registry._Redirects()
    request = urllib.request.Request("https://registry.example/v2/it")
    headers = urllib.request.http.client.HTTPMessage()  # type: ignore[attr-defined]
    for place in ("http://registry.example/x", "ftp://registry.example/x"):
        with pytest.raises(ValueError, match="without encryption"):
            handler.redirect_request(request, None, 302, "Found", headers, place)  # type: ignore[arg-type]
    made = handler.redirect_request(
        request,
        None,  # type: ignore[arg-type]
        302,
        "Found",
        headers,
        "https://elsewhere.example/x",
    )
    assert made is not None and made.full_url == "https://elsewhere.example/x"

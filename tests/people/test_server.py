"""The server of answers, over HTTP: links once, limits, where requests come from, deletion."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from benchflow.errors import UsageError
from benchflow.people.answers import MOST_BYTES, BadAnswers, Body, Signed, hash_of, opened
from benchflow.people.rate_limit import RateLimit
from benchflow.people.server import Served, app
from benchflow.people.store import Store

from .rater import Rater

PACK = "cd" * 32
ORIGIN = "http://testserver"


class Plain(Body, tag="plain"):
    """Answers to one question."""

    text: str = ""


class OneQuestion:
    """A questionnaire whose page is its token."""

    digest = PACK

    def page(self, served: Served | None) -> str:
        return served.csrf if served else ""

    def page_policy(self, served: Served | None) -> str:
        return "default-src 'none'"

    def check(self, data: bytes) -> Signed[Body]:
        found = opened(data, Plain)
        return Signed(found.body, found.envelope)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "answers.sqlite")


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(app([OneQuestion()], store)) as running:
        yield running


def answer(rater: Rater, code: str, **more: Any) -> dict[str, Any]:
    return rater.body(PACK, kind="plain", link=hash_of(code), **more)


def send(client: TestClient, code: str, data: bytes, **headers: str) -> Any:
    """As the page does: it was opened, and sends its token."""
    csrf = client.get(f"/r/{code}").text
    own = {"x-benchflow-csrf": csrf, "content-type": "application/json", "origin": ORIGIN}
    return client.post(f"/r/{code}", content=data, headers={**own, **headers})


def test_a_link_is_worth_one_set_of_answers_until_they_are_deleted(
    client: TestClient, store: Store
) -> None:
    (code,), rater = store.new_links(PACK, ["Ada"]), Rater()
    sent = rater.envelope(answer(rater, code))
    done = send(client, code, sent)
    assert done.status_code == 200
    assert list(store.envelopes(MOST_BYTES)) == [sent]
    assert client.get(f"/r/{code}").status_code == 410
    again = send(client, code, rater.envelope(answer(rater, code)))
    assert again.status_code in (403, 422)

    deletion = done.json()["deletion"].removeprefix(ORIGIN)
    asked = client.get(deletion)
    csrf = asked.text.partition('name="csrf" value="')[2].partition('"')[0]
    assert list(store.envelopes(MOST_BYTES)) == [sent], "looking deletes nothing"
    assert client.post(deletion, data={"csrf": "guess"}).status_code == 403
    assert client.post(deletion, data={"csrf": csrf}).status_code == 200
    assert list(store.envelopes(MOST_BYTES)) == []
    assert client.get(deletion).status_code == 404
    replayed = send(client, code, sent)
    assert (replayed.status_code, "deleted on request" in replayed.text) == (422, True)
    assert send(client, code, rater.envelope(answer(rater, code))).status_code == 200


def test_deleted_answers_are_nowhere_in_the_file(client: TestClient, store: Store) -> None:
    (code,), rater = store.new_links(PACK, ["Ada"]), Rater()
    sent = rater.envelope(answer(rater, code, text="a-secret-of-mine"))
    token = send(client, code, sent).json()["deletion"].rpartition("/")[2]
    held = [path.read_bytes() for path in store.path.parent.iterdir()]
    assert any(b"a-secret-of-mine" in data for data in held)
    assert store.delete(token)
    held = [path.read_bytes() for path in store.path.parent.iterdir()]
    assert not any(b"a-secret-of-mine" in data for data in held)


def test_codes_and_tokens_are_not_kept(client: TestClient, store: Store) -> None:
    (code,), rater = store.new_links(PACK, ["Ada"]), Rater()
    token = send(client, code, rater.envelope(answer(rater, code))).json()["deletion"][-32:]
    held = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert code.encode() not in held
    assert token.encode() not in held


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"x-benchflow-csrf": "guess"}, 403),
        ({"x-benchflow-csrf": ""}, 403),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-length": "99999999"}, 413),
    ],
)
def test_what_does_not_come_from_the_page_is_refused(
    client: TestClient, store: Store, change: dict[str, str], status: int
) -> None:
    (code,), rater = store.new_links(PACK, [""]), Rater()
    done = send(client, code, rater.envelope(answer(rater, code)), **change)
    assert done.status_code == status
    assert list(store.envelopes(MOST_BYTES)) == []


def test_ten_megabytes_are_not_taken(client: TestClient, store: Store) -> None:
    (code,) = store.new_links(PACK, [""])
    pieces = (b"x" * 65536 for _ in range(160))
    csrf = client.get(f"/r/{code}").text
    headers = {"x-benchflow-csrf": csrf, "content-type": "application/json", "origin": ORIGIN}
    assert client.post(f"/r/{code}", content=pieces, headers=headers).status_code == 413


def test_answers_belong_to_their_link_pack_and_key(client: TestClient, store: Store) -> None:
    first, second, third = store.new_links(PACK, ["", "", ""])
    rater, other = Rater(), Rater()
    stolen = rater.envelope(answer(rater, first))
    assert send(client, second, stolen).status_code == 422
    elsewhere = {**answer(rater, first), "pack": "00" * 32}
    assert send(client, first, rater.envelope(elsewhere)).status_code == 422
    assert send(client, first, stolen).status_code == 200
    twice = send(client, second, rater.envelope(answer(rater, second)))
    assert (twice.status_code, "given already" in twice.text) == (422, True)
    same_id = {**answer(other, third), "id": _id(stolen)}
    assert send(client, third, other.envelope(same_id)).status_code == 422
    assert len(list(store.envelopes(MOST_BYTES))) == 1


def _id(envelope: bytes) -> str:
    return opened(envelope, Plain).body.id


def test_guessing_links_ends_soon(client: TestClient) -> None:
    found = [client.get(f"/r/guess{n}").status_code for n in range(40)]
    assert found[0] == 404
    assert found[-1] == 429


def test_every_page_forbids_frames_caches_and_referrers(client: TestClient, store: Store) -> None:
    (code,) = store.new_links(PACK, [""])
    for path in ("/", f"/r/{code}", "/nowhere", "/delete/none"):
        headers = client.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] in ("no-referrer", "same-origin")


def test_a_limit_fills_again_and_is_each_ones_own() -> None:
    now = [0.0]
    limit = RateLimit(burst=2, per_minute=60, clock=lambda: now[0])
    assert [limit.allows("a") for _ in range(3)] == [True, True, False]
    assert limit.allows("b")
    now[0] = 1.0
    assert [limit.allows("a") for _ in range(2)] == [True, False]


def test_links_are_listed_with_what_became_of_them(client: TestClient, store: Store) -> None:
    used, _ = store.new_links(PACK, ["Ada", "Grace"])
    rater = Rater()
    send(client, used, rater.envelope(answer(rater, used)))
    found = [(one.label, bool(one.opened), bool(one.answered)) for one in store.links(PACK)]
    assert found == [("Ada", True, True), ("Grace", False, False)]


def test_a_file_that_is_no_store_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, only text, and more of it" * 40)
    with pytest.raises(UsageError, match="not a database"):
        Store(tmp_path / "text")
    with sqlite3.connect(tmp_path / "later") as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    with pytest.raises(UsageError, match="version 7"):
        Store(tmp_path / "later")


def test_two_at_once_get_one_place(store: Store) -> None:
    (code,), first, second = store.new_links(PACK, [""]), Rater(), Rater()
    signed = [opened(each.envelope(answer(each, code)), Plain) for each in (first, second)]
    other = Store(store.path)
    store.take(code, Signed(signed[0].body, signed[0].envelope))
    with pytest.raises(BadAnswers):
        other.take(code, Signed(signed[1].body, signed[1].envelope))

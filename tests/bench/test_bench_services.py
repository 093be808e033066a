"""Services that a verifier plays, asked by the clients that projects use."""

from __future__ import annotations

import os
import shutil
import smtplib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import needs

from benchflow.bench.mail_sink import MailSink
from benchflow.bench.postgresql_server import PostgreSQL
from benchflow.bench.redis_server import Redis
from benchflow.bench.service_guard import stored
from benchflow.boot.errors import GuestOverrun, ToolMissing, VerifierBroken


@pytest.fixture(scope="module")
@needs("psql", "initdb", "root")
def postgresql() -> Iterator[PostgreSQL]:
    made = PostgreSQL()
    yield made
    made.close()


@pytest.fixture(scope="module")
@needs("redis-server", "root")
def redis() -> Iterator[Redis]:
    made = Redis()
    yield made
    made.close()


@pytest.fixture
def sink() -> Iterator[MailSink]:
    made = MailSink()
    yield made
    made.close()


def psql(url: str, sql: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["psql", "-XAtq", url, "-c", sql],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PGCONNECT_TIMEOUT": "10"},
    )


def test_postgresql_takes_its_user_and_nobody_else(postgresql: PostgreSQL) -> None:
    url = postgresql.url("127.0.0.1")
    assert psql(url, "CREATE TABLE seen (word text); INSERT INTO seen VALUES ('a|b')").stderr == ""
    assert postgresql.rows("SELECT word FROM seen") == [["a|b"]]
    for wrong in (
        url.replace(postgresql.password, "guess"),
        f"postgresql://postgres@127.0.0.1:{postgresql.port}/postgres",
    ):
        assert psql(wrong, "SELECT 1").returncode == 2
    assert psql(url, "CREATE ROLE other SUPERUSER").returncode == 1


def test_postgresql_keeps_its_data_and_drops_old_keys(postgresql: PostgreSQL) -> None:
    old = postgresql.url("127.0.0.1")
    psql(old, "CREATE TABLE kept AS SELECT 7 AS n")
    with subprocess.Popen(
        ["psql", "-Xq", old], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as held:
        assert held.stdin
        held.stdin.write(b"SELECT 1;\n")
        held.stdin.flush()
        while not postgresql.sessions():
            pass
        postgresql.rotate()
        held.communicate(b"SELECT 1;\n", timeout=30)
    assert postgresql.sessions() == 0
    assert psql(old, "SELECT 1").returncode == 2
    postgresql.stop()
    assert psql(postgresql.url("127.0.0.1"), "SELECT 1").returncode == 2
    postgresql.start()
    assert psql(postgresql.url("127.0.0.1"), "SELECT n FROM kept").stdout == "7\n"


def test_a_wrong_query_of_ours_is_the_verifiers_fault(postgresql: PostgreSQL) -> None:
    with pytest.raises(VerifierBroken, match="psql ended"):
        postgresql.query("SELECT nothing FROM nowhere")


def test_what_a_guest_made_runs_with_its_rights(postgresql: PostgreSQL) -> None:
    url = postgresql.url("127.0.0.1")
    made = (
        "CREATE FUNCTION who() RETURNS text LANGUAGE sql AS 'SELECT current_user::text';"
        "CREATE VIEW mirror AS SELECT who() AS word"
    )
    assert psql(url, made).returncode == 0
    assert postgresql.rows("SELECT word FROM mirror") == [[postgresql.user]]
    assert psql(url, "DROP VIEW mirror").returncode == 0
    with pytest.raises(AssertionError, match="the database refuses 'SELECT word FROM mirror'"):
        postgresql.rows("SELECT word FROM mirror")
    assert psql(url, f"ALTER ROLE {postgresql.user} PASSWORD 'mine'").returncode == 0
    with pytest.raises(AssertionError, match="refuses"):
        postgresql.rows("SELECT 1")
    postgresql.rotate()
    assert postgresql.rows("SELECT 1") == [["1"]]


@pytest.fixture
@needs("psql", "initdb", "root")
def own() -> Iterator[PostgreSQL]:
    """One that a test may have ended for good."""
    made = PostgreSQL()
    yield made
    made.close()


def test_rows_without_end_are_the_guests(
    postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.bench.postgresql_server._ROWS_SECONDS", 3)
    url = postgresql.url("127.0.0.1")
    for name, view in (
        ("slow", "SELECT pg_sleep(1000)::text AS word"),
        ("many", "SELECT repeat('x', 1000) AS word FROM generate_series(1, 1000000)"),
        ("long", "SELECT repeat('x', 100000000) AS word"),
    ):
        assert psql(url, f"CREATE VIEW {name} AS {view}").returncode == 0
        with pytest.raises(AssertionError, match=f"refuses 'SELECT word FROM {name}'"):
            postgresql.rows(f"SELECT word FROM {name}")
    noisy = (
        "CREATE FUNCTION say() RETURNS text LANGUAGE plpgsql AS "
        "'BEGIN LOOP RAISE WARNING $$%$$, repeat($$x$$, 100000); END LOOP; END'"
    )
    assert psql(url, noisy).returncode == 0
    with pytest.raises(AssertionError, match="refuses"):
        postgresql.rows("SELECT say()")
    assert postgresql.rows("SELECT 1") == [["1"]]
    assert postgresql.sessions() == 0


STORE = "CREATE TABLE junk AS SELECT repeat(md5(i::text), 30) FROM generate_series(1, 99999999) i"


def test_who_fills_the_disk_has_failed(own: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchflow.bench.service_guard.DISK_MAX", 256 << 20)
    assert psql(own.url("127.0.0.1"), STORE).returncode == 2, "the server is gone"
    for ask in (own.rows, own.query):
        with pytest.raises(GuestOverrun, match="clients made postgres take over 256 MiB of disk"):
            ask("SELECT 1")
    own.stop()
    with pytest.raises(GuestOverrun):
        own.start()
    assert stored(own.folder)[0] < 1 << 30
    assert not [one for one in Path("/proc").glob("[0-9]*/cwd") if own.folder in points_to(one)]


def points_to(link: Path) -> list[Path]:
    try:
        there = link.readlink()
    except OSError:
        return []
    return [there, *there.parents]


def test_memory_is_bounded_for_each_and_for_all(
    own: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    hoard = "SELECT length(array_agg(repeat('x', 1000))::text) FROM generate_series(1, (10^7)::int)"
    refused = psql(own.url("127.0.0.1"), hoard)
    assert "out of memory" in refused.stderr
    assert own.rows("SELECT 1") == [["1"]]
    monkeypatch.setattr("benchflow.bench.service_guard.MEMORY_MAX", 128 << 20)
    assert psql(own.url("127.0.0.1"), hoard).returncode == 2
    with pytest.raises(GuestOverrun, match="128 MiB of memory"):
        own.query("SELECT 1")


def test_files_are_counted(own: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchflow.bench.service_guard.FILES_MAX", stored(own.folder)[1] + 200)
    tables = (
        "DO $$ BEGIN FOR i IN 1..2000 LOOP EXECUTE format('CREATE TABLE t%s (n int)', i); "
        "COMMIT; END LOOP; END $$"
    )
    assert psql(own.url("127.0.0.1"), tables).returncode == 2
    with pytest.raises(GuestOverrun, match="files"):
        own.query("SELECT 1")


def redis_cli(redis: Redis, password: str, *words: str) -> str:
    done = subprocess.run(
        ["redis-cli", "-u", f"redis://127.0.0.1:{redis.port}/0", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "REDISCLI_AUTH": password},
    )
    return done.stdout + done.stderr


def test_redis_counts_what_clients_do_and_drops_old_keys(redis: Redis) -> None:
    old = redis.password
    assert redis.calls("set") == 0
    assert redis_cli(redis, old, "SET", "word", "x") == "OK\n"
    assert redis.calls("set") == 1
    assert redis.keys() == ["word"]
    assert "NOAUTH" in redis_cli(redis, "", "GET", "word") + redis_cli(redis, "no", "GET", "word")
    redis.rotate()
    assert "WRONGPASS" in redis_cli(redis, old, "GET", "word")
    assert redis_cli(redis, redis.password, "GET", "word") == "x\n"
    redis.stop()
    assert not redis.answers()
    redis.start()
    assert redis.keys() == []


def test_a_client_of_redis_is_no_administrator(redis: Redis) -> None:
    denied = ("CONFIG SET requirepass mine", "ACL SETUSER default >mine", "SHUTDOWN NOSAVE")
    for command in denied:
        assert "NOPERM" in redis_cli(redis, redis.password, *command.split()), command
    assert redis_cli(redis, redis.password, "FLUSHALL") == "OK\n"
    assert redis.keys() == []


def mail(sink: MailSink, user: str, password: str, text: str) -> None:
    with smtplib.SMTP("127.0.0.1", sink.port, timeout=20) as client:
        client.login(user, password)
        client.sendmail("a@own.example", ["b@own.example"], f"Subject: hello\n\n{text}\n")


def test_mail_is_taken_from_who_logs_in(sink: MailSink) -> None:
    mail(sink, sink.user, sink.password, "the word is\nnonce")
    found = sink.taken("nonce")
    assert found and found.sender == "a@own.example" and found.recipients == ("b@own.example",)
    assert found.text == "the word is\nnonce\n" and found.message["subject"] == "hello"
    assert sink.taken("other", seconds=0) is None
    old = sink.password
    sink.rotate()
    for user, password in ((sink.user, old), ("", ""), (sink.user, "x")):
        with pytest.raises(smtplib.SMTPAuthenticationError):
            mail(sink, user, password, "no")
    assert len(sink.mails) == 1
    assert sink.refused == 6, "smtplib tries two ways of logging in"
    with smtplib.SMTP("127.0.0.1", sink.port, timeout=20) as client:
        client.ehlo()
        assert client.mail("a@own.example")[0] == 530


def test_what_is_no_mail_is_taken_as_it_is(sink: MailSink) -> None:
    mail(sink, sink.user, sink.password, "word")
    for head in ("Content-Type: text/plain; charset=none-such", "Content-Type: ;;", "To: <@,:;\0>"):
        broken = f"{head}\n\nnonce-{len(sink.mails)} \xff\n".encode("latin-1")
        with smtplib.SMTP("127.0.0.1", sink.port, timeout=20) as client:
            client.login(sink.user, sink.password)
            client.sendmail("a@own.example", ["b@own.example"], broken)
        assert sink.taken(f"nonce-{len(sink.mails) - 1}", seconds=0) is sink.mails[-1]
    assert len(sink.mails) == 4


def test_mails_together_are_bounded(sink: MailSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchflow.bench.mail_sink.SIZES_MAX", 3000)
    for _ in range(3):
        mail(sink, sink.user, sink.password, "x" * 900 + "\n" + "y" * 900)
        if len(sink.mails) == 2:
            break
    with pytest.raises(smtplib.SMTPDataError, match="full"):
        mail(sink, sink.user, sink.password, "one more")


def test_after_the_end_nobody_listens() -> None:
    sink = MailSink()
    sink.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", sink.port), 5)


@pytest.mark.needs("redis-server", "root")
def test_a_folder_goes_with_its_service() -> None:
    made = Redis()
    folder = made.folder
    assert folder.is_dir()
    made.close()
    assert not folder.exists()


def test_what_is_not_installed_is_the_verifiers_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if os.geteuid() != 0 or not shutil.which("redis-server", path="/usr/bin"):
        with pytest.raises(ToolMissing):
            Redis()
        return
    with pytest.raises(ToolMissing, match="redis-server is not installed"):
        Redis()

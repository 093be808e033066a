"""The same pages from loopback, true while trials end."""

from __future__ import annotations

import http.client
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.results.records import collect
from benchflow.results.synthetic import Design, write_job
from benchflow.site.addresses import trial_page
from benchflow.site.server import Live, serve
from benchflow.site.study import Study
from benchflow.site.vendor import Vendor


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write_job(tmp_path / "job", Design(agents=2, tasks=2, attempts=2, steps=4))


@pytest.fixture
def port(job: Path) -> Iterator[int]:
    live = Live(lambda: Study("served", collect([job])), [job], Vendor(None))
    server = serve(live, 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def _get(port: int, path: str, host: str = "") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_it_serves_pages_twins_and_what_they_load(port: int, job: Path) -> None:
    record = next(r for r in collect([job]).records if r.trajectories)
    page = trial_page(record.uid)
    for path, start in (
        ("/", b"\n<!doctype html>"),
        ("/matrix.md", b"# The matrix"),
        (f"/{page}", b"\n<!doctype html>"),
        (f"/{page.removesuffix('.html')}/steps-0.js", b"benchflow.put("),
        ("/trials/rows-0.js", b"benchflow.put("),
        ("/assets/app.js", b"// What every page has"),
    ):
        status, headers, body = _get(port, path)
        assert status == 200 and body.lstrip().startswith(start.lstrip()), path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/assets/../site.py",
        "/assets/%2e%2e/html.py",
        "/trials/x/y/z.js",
        "//",
        "/.",
    ],
)
def test_nothing_but_the_site_is_served(port: int, path: str) -> None:
    assert _get(port, path)[0] == 404 or path in ("//",)


def test_another_name_for_this_machine_is_refused(port: int) -> None:
    assert _get(port, "/", host="rebound.example")[0] == 403
    assert _get(port, "/", host=f"localhost:{port}")[0] == 200


def test_open_pages_are_told_when_a_trial_is_gone_or_new(port: int, job: Path) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/-/news")
    news = connection.getresponse()
    assert news.readline() == b"event: version\n"
    first = news.readline()
    news.readline()
    shutil.rmtree(next(path for path in job.iterdir() if path.is_dir()))
    assert news.readline() == b"event: version\n"
    assert news.readline() != first
    connection.close()
    assert b'"Trials": 7' in _get(port, "/index.json")[2]

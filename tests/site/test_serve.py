"""The same pages from loopback, true while trials end."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import page
from playwright.sync_api import Browser, Error, Page

from benchflow.results.collect import collect
from benchflow.results.jobs import journal
from benchflow.results.jobs.lock import hold
from benchflow.results.synthetic import Design, write_job
from benchflow.run.models.gateway_access import LEDGER
from benchflow.site.build import build
from benchflow.site.server import Live, serve
from benchflow.site.study import Study
from benchflow.site.urls import trial_page
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
    place = trial_page(record.uid)
    for path, start in (
        ("/", b"\n<!doctype html>"),
        ("/matrix.md", b"# The matrix"),
        (f"/{place}", b"\n<!doctype html>"),
        (f"/{place.removesuffix('.html')}.steps-0.js", b"benchflow.put("),
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


def _next(news: http.client.HTTPResponse, event: str) -> bytes:
    """The data of the next event of this name."""
    while True:
        name, data, _ = news.readline(), news.readline(), news.readline()
        assert name, "the server ended"
        if name == f"event: {event}\n".encode():
            return data


def test_open_pages_are_told_when_a_trial_is_gone_or_new(port: int, job: Path) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/-/news")
    news = connection.getresponse()
    first = _next(news, "version")
    shutil.rmtree(next(path for path in job.iterdir() if path.is_dir()))
    assert _next(news, "version") != first
    connection.close()
    assert b'"Trials":7' in _get(port, "/index.json")[2]


def _set_back(job: Path) -> tuple[Path, str]:
    """A trial of `job` as it was before it ended, and the result that it will have."""
    trial = next(path.parent.parent for path in sorted(job.glob("*/verifier/progress.jsonl")))
    result = (trial / "result.json").read_text()
    (trial / "result.json").unlink()
    shutil.rmtree(trial / "verifier")
    (trial / "verifier").mkdir()
    config = {"task": json.loads(result)["config"]["task"], "agent": {"name": "late-agent"}}
    (trial / "config.json").write_text(json.dumps(config))
    return trial, result


def _until(tab: Page, condition: str) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            if tab.evaluate(condition):
                return
        except Error:  # the page is being loaded anew
            pass
        assert time.monotonic() < end, f"never came true: {condition}"
        tab.wait_for_timeout(100)


def test_a_running_trial_is_followed_to_its_end(
    opened: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    job = write_job(tmp_path / "job", Design(agents=1, tasks=2, attempts=1, steps=3))
    trial, result = _set_back(job)
    row = "document.querySelector('#under-way tbody tr')"
    with hold(job), page(opened) as (tab, faults):
        live = Live(lambda: Study("s", collect([job]), live=True), [job], Vendor(None))
        server = serve(live, 0)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        request.addfinalizer(thread.join)
        request.addfinalizer(server.server_close)
        request.addfinalizer(server.shutdown)
        tab.goto(f"http://127.0.0.1:{server.server_port}/")
        _until(tab, f"{row}?.innerText.includes('late-agent')")
        assert "1 trial at work" in tab.locator("#under-way").inner_text()
        tab.evaluate("window.same = true")
        with (trial / "verifier" / "progress.jsonl").open("w") as progress:
            progress.write('{"event": "milestone", "id": "<b>image", "status": "passed"}\n')
            progress.write('{"event": "check", "name": "test_<i>", "status": "running"}\n')
        _until(tab, f"{row}.innerText.includes('1 of 1')")
        assert "check test_<i>" in tab.locator("#under-way").inner_text()
        with (job / LEDGER).open("a") as ledger:
            ledger.write('{"schema": 1}\n')
        journal.enter(job, trial.name, "boot", 600.0)
        _until(tab, f"{row}.innerText.includes('boot')")
        assert tab.evaluate("window.same"), "only what is under way was replaced"
        shown = f"{row}.querySelector('[data-since]').innerText"
        before = tab.evaluate(shown)
        _until(tab, f"{shown} !== {json.dumps(before)}")
        (trial / "result.json").write_text(result)
        _until(tab, "document.querySelector('#under-way') === null && !window.same")
        assert "tried 2 tasks 2 times" in tab.locator(".lede").inner_text()
        assert faults == []


def test_a_site_says_what_was_unfinished_when_it_was_built(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", Design(agents=1, tasks=2, attempts=1, steps=3))
    trial, _ = _set_back(job)
    with hold(job):
        running = build(Study("s", collect([job])), tmp_path / "running").folder
    left = build(Study("s", collect([job])), tmp_path / "left").folder
    page_ = (running / "index.html").read_text()
    assert "1 trial at work, as of 2" in page_ and trial.name in page_
    assert "1 trial left unfinished" in (left / "index.html").read_text()
    for site in (running, left):
        twin = json.loads((site / "index.json").read_text())["sections"]
        (found,) = twin["under-way"][1]["rows"]
        assert (found["trial"], found["who"]) == (trial.name, "late-agent")
        assert twin["numbers"][0]["facts"]["Trials"] == 1
    assert "was not finished" in (left / "ledger.html").read_text()

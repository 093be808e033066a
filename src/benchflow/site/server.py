"""The same pages from this machine's loopback, made when asked for, true while a job runs.

Bound to 127.0.0.1 and nothing else; a request under another name is refused, so that no page of
the web can read it by rebinding a name. Files are looked at every two seconds, and pages that are
open are told by server-sent events when something changed: `version`, that all pages
did (a trial began or ended); `progress`, that only what is under way did.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path, PurePosixPath
from stat import S_ISDIR
from urllib.parse import unquote, urlsplit

from benchflow.results.jobs import journal, task_facts, unfinished
from benchflow.run.models.gateway_access import LEDGER
from benchflow.site.build import shell_of
from benchflow.site.html import Shell, policy
from benchflow.site.markdown_json import to_json, to_markdown
from benchflow.site.page_list import plan
from benchflow.site.pages import trial
from benchflow.site.pages.common import Maker
from benchflow.site.study import Study
from benchflow.site.urls import trial_page
from benchflow.site.vendor import ASSETS, Vendor

_GROWING = {journal.NAME, LEDGER}
_LOOK_SECONDS = 2.0
_BEAT_SECONDS = 15.0
_KEPT_FILES = 2000
_POLICY = policy("'self'") + "; frame-ancestors 'none'"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".json": "application/json",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


class Live:
    """A study that is read again when its sources change, and its pages as they are asked for."""

    def __init__(self, read: Callable[[], Study], sources: list[Path], third: Vendor) -> None:
        self._read = read
        self._sources = sources
        self._third = third
        self._lock = threading.RLock()
        self._seen: object = None
        self._progress: object = None
        self._looked = 0.0
        self._study: Study
        self._shell: Shell
        self._makers: dict[str, Maker] = {}
        self._files: OrderedDict[str, str] = OrderedDict()
        self.version = 0
        self.steps = 0
        self.look()

    def look(self) -> tuple[int, int]:
        """Reads the sources again where they changed. How often they were read since the start,
        and how often what is under way was: a trial that moves on changes the second number alone,
        one that began or ended both."""
        with self._lock:
            now = time.monotonic()
            if self._seen is None or now - self._looked >= _LOOK_SECONDS:
                self._looked = now
                state = _state(self._sources)
                if state != self._seen:
                    self._load(self._read())
                    self._seen = state
                    self.version += 1
                progress = [unfinished.state(one.path) for one in self._study.collection.unfinished]
                if progress != self._progress:
                    self._look_again()
                    self._progress = progress
                    self.steps += 1
            return self.version, self.steps

    def _look_again(self) -> None:
        found = self._study.collection.unfinished
        fresh = tuple(
            one
            for job, those in groupby(found, lambda one: one.path.parent)
            for one in unfinished.look(job, [one.path for one in those], task_facts.of_job(job)[0])
        )
        self._load(self._study.seen_anew(fresh))

    def _load(self, study: Study) -> None:
        self._study, self._shell = study, shell_of(study, self._third, live=True)
        self._makers = dict(plan(study))
        for record in study.records:
            tried = study.tried[record.who, record.task]
            make = partial(trial.make, study.at, tried, record)
            self._makers[trial_page(record.uid)] = make
        self._files.clear()

    def file(self, path: str) -> bytes | None:
        """A file of the site by its path from the root; None where there is none."""
        asset = self._asset(path)
        if asset is not None:
            return asset
        with self._lock:
            if path not in self._files:
                page = _page_of(path)
                if page not in self._makers:
                    return None
                self._make(page)
            found = self._files.get(path)
        return None if found is None else found.encode("utf-8", "replace")

    def _make(self, path: str) -> None:
        page = self._makers[path](self._keep)
        stem = path.removesuffix(".html")
        self._keep(path, self._shell.render(page))
        self._keep(f"{stem}.md", to_markdown(page))
        self._keep(f"{stem}.json", to_json(page))

    def _keep(self, path: str, text: str) -> None:
        self._files[path] = text
        while len(self._files) > _KEPT_FILES:
            self._files.popitem(last=False)

    def _asset(self, path: str) -> bytes | None:
        folder, _, name = path.rpartition("/")
        homes = {"assets": ASSETS, "assets/vendor": self._third.folder}
        home = homes.get(folder)
        if home is None or name not in {child.name for child in home.iterdir()}:
            return None
        return (home / name).read_bytes()


def serve(live: Live, port: int) -> ThreadingHTTPServer:
    """A server for `live` on 127.0.0.1; port 0 takes any that is free. Raises OSError."""
    server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, live))
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    server_version = "benchflow"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def __init__(self, live: Live, *given: object) -> None:
        self._live = live
        super().__init__(*given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in ("127.0.0.1", "localhost"):
            self._say(HTTPStatus.FORBIDDEN, b"this server answers to 127.0.0.1 alone\n", ".txt")
            return
        path = unquote(urlsplit(self.path).path).lstrip("/") or "index.html"
        if path == "-/news":
            self._news()
            return
        self._live.look()
        data = self._live.file(path)
        if data is None:
            self._say(HTTPStatus.NOT_FOUND, b"there is no such page\n", ".txt")
        else:
            self._say(HTTPStatus.OK, data, PurePosixPath(path).suffix)

    def _say(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", _TYPES.get(kind, "application/octet-stream"))
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", _POLICY)
        self.end_headers()
        self.wfile.write(data)

    def _news(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        told, beat = (0, 0), 0.0
        try:
            while True:
                news = self._live.look()
                now = time.monotonic()
                if news[0] != told[0] or now - beat > _BEAT_SECONDS:
                    self._tell("version", news[0])
                    beat = now
                if news[1] != told[1]:
                    self._tell("progress", news[1])
                told = news
                time.sleep(_LOOK_SECONDS)
        except OSError:
            self.close_connection = True

    def _tell(self, event: str, data: int) -> None:
        self.wfile.write(f"event: {event}\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *values: object) -> None:
        """Requests are not logged: the terminal shows where to look, and errors."""


def _page_of(path: str) -> str:
    """The page that makes the file `path`: itself, its twin's, or that of its trial."""
    parts = path.split("/")
    if len(parts) == 3 and parts[0] == "trials":
        return f"trials/{parts[1]}/{parts[2].partition('.')[0]}.html"
    if path.startswith("trials/rows-"):
        return "trials.html"
    whole = PurePosixPath(path)
    return str(whole.with_suffix(".html")) if whole.suffix else ""


def _state(sources: list[Path]) -> object:
    """What changes when a trial begins or ends or a file is written again."""
    found: list[tuple[str, int, int]] = []
    for source in sources:
        for path in [source, *_results(source)]:
            try:
                stat = path.stat()
            except OSError:
                continue
            # What is written in a trial's folder while it runs is no news of the whole.
            of_folder = S_ISDIR(stat.st_mode)
            found.append((str(path), *((0, 0) if of_folder else (stat.st_size, stat.st_mtime_ns))))
    return found


def _results(source: Path) -> list[Path]:
    """Job and trial folders and the records in them, two levels deep, without what grows while a
    job runs."""
    if not source.is_dir():
        return []
    levels = ("*", "*/*/", "*/result.json", "*/*/result.json")
    found = (path for level in levels for path in sorted(source.glob(level)))
    return [path for path in found if path.suffix != ".log" and path.name not in _GROWING]

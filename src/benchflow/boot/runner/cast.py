"""A recording of a serial console in the asciicast v2 format."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from benchflow.boot.sanitize import StreamFilter, clean

_MAX_BYTES = 8 << 20
_MAX_MARKERS = 5000


class Cast:
    """Appends events to one file; after `limit` bytes of output only markers are kept.

    Events of the same moment are joined, so that a guest that prints byte by byte costs little.
    """

    def __init__(self, path: Path, *, title: str = "", limit: int = _MAX_BYTES) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._filter = StreamFilter()
        self._pending: list[str] = []
        self._pending_since = 0.0
        self._left = limit
        self._markers = 0
        header = {
            "version": 2,
            "width": 100,
            "height": 30,
            "timestamp": int(time.time()),
            "title": title,
        }
        self._file.write(json.dumps(header) + "\n")
        self._file.flush()

    def output(self, data: bytes) -> None:
        """What the guest printed; terminal sequences that could harm a viewer are dropped."""
        with self._lock:
            if self._left <= 0 or self._file.closed:
                return
            self._left -= len(data)
            text = self._filter.feed(data)
            now = self._now()
            if not self._pending:
                self._pending_since = now
            if text:
                self._pending.append(text)
            if now - self._pending_since > 0.05 or self._left <= 0:
                self._flush()
            if self._left <= 0:
                self._write("m", "recording stopped: the console printed too much")

    def typed(self, text: str) -> None:
        """What the verifier typed (an `i` event)."""
        self._event("i", clean(text, 4000))

    def marker(self, label: str) -> None:
        """A marker (an `m` event) that players offer to jump to."""
        self._event("m", clean(label, 200))

    def close(self) -> None:
        """Write what is pending and close the file; later events are dropped."""
        with self._lock:
            if not self._file.closed:
                self._flush()
                self._file.close()

    def _event(self, kind: str, text: str) -> None:
        with self._lock:
            if self._file.closed or self._markers >= _MAX_MARKERS:
                return
            self._markers += 1
            self._flush()
            self._write(kind, text)

    def _now(self) -> float:
        return time.monotonic() - self._start

    def _flush(self) -> None:
        if self._pending:
            self._write("o", "".join(self._pending), at=self._pending_since)
            self._pending.clear()

    def _write(self, kind: str, text: str, at: float | None = None) -> None:
        moment = round(self._now() if at is None else at, 3)
        self._file.write(json.dumps([moment, kind, text]) + "\n")
        self._file.flush()

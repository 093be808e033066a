"""A guest's serial console: drained without end, kept within bounds, read as plain text.

A thread of ours (`io_thread.py`) drains the console whether or not anyone reads, so a guest that
prints forever neither blocks nor fills a disk: the first `HEAD` and the last `TAIL` characters
are kept, what lies between is counted and dropped.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable

from benchflow.boot.machine.console_text import Stripper

HEAD = 256 * 1024
TAIL = 4 * 1024 * 1024
OVERLAP = 8 * 1024  # a match that arrives in pieces spans at most this many characters
_COALESCE = 16 * 1024

Listener = Callable[[float, bytes], None]


class Console:
    """Plain text of the console, addressed by absolute positions (characters since the first boot).

    Safe for use from several threads. `changed` is notified whenever text arrived.
    """

    def __init__(self, changed: threading.Condition | None = None) -> None:
        self.changed = changed or threading.Condition()
        self.started = time.monotonic()
        self._stripper = Stripper()
        self._head = ""
        self._chunks: deque[tuple[int, str]] = deque()
        self._kept = 0
        self._end = 0
        self._writer: Callable[[bytes], None] | None = None
        self._listeners: list[Listener] = []

    @property
    def end(self) -> int:
        """The position after the last character."""
        return self._end

    @property
    def dropped(self) -> int:
        """How many characters in the middle were not kept."""
        return max(0, self._end - self._kept - len(self._head))

    @property
    def text(self) -> str:
        """All that was kept, with a line that says how much was dropped."""
        with self.changed:
            dropped = self.dropped
            if not dropped:
                return self._head + self._slice(len(self._head))
            return f"{self._head}\n[… {dropped} characters dropped …]\n{self._slice(0)}"

    def subscribe(self, listener: Listener) -> None:
        """Call `listener(seconds since the console was made, raw bytes)` for all that arrives."""
        self._listeners.append(listener)

    def send(self, data: str | bytes) -> None:
        """Type on the console. What is typed when no machine runs is lost, as on a real one."""
        writer = self._writer
        if writer is not None:
            writer(data.encode() if isinstance(data, str) else data)

    def connect(self, writer: Callable[[bytes], None] | None) -> None:
        """Say how bytes reach the guest; None when it is gone."""
        self._writer = writer

    def feed(self, data: bytes) -> None:
        """Take bytes that the guest printed."""
        now = time.monotonic() - self.started
        for listener in self._listeners:
            listener(now, data)
        with self.changed:
            self._append(self._stripper.feed(data))
            self.changed.notify_all()

    def since(self, start: int) -> str:
        """The text from position `start` on, as far as it is still kept."""
        with self.changed:
            return self._slice(start)

    def tail(self, characters: int = 2000) -> str:
        """The last characters."""
        return self.since(max(0, self._end - characters))[-characters:]

    def search(self, pattern: re.Pattern[str], start: int, scanned: int = 0) -> Found | None:
        """The first match at or after `start`; what ends before `scanned` was searched before."""
        with self.changed:
            begin = max(start, scanned - OVERLAP)
            text = self._slice(begin)
            begin = self._end - len(text)
        match = pattern.search(text)
        return Found(match, begin) if match else None

    def _append(self, text: str) -> None:
        if not text:
            return
        if len(self._head) < HEAD:
            self._head += text[: HEAD - len(self._head)]
        if self._chunks and len(self._chunks[-1][1]) < _COALESCE:
            position, last = self._chunks.pop()
            self._chunks.append((position, last + text))
        else:
            self._chunks.append((self._end, text))
        self._end += len(text)
        self._kept += len(text)
        while self._kept - len(self._chunks[0][1]) >= TAIL:
            self._kept -= len(self._chunks.popleft()[1])

    def _slice(self, start: int) -> str:
        parts: list[str] = []
        for position, text in reversed(self._chunks):
            if position + len(text) <= start:
                break
            parts.append(text[max(0, start - position) :])
        return "".join(reversed(parts))


class Found:
    """A match, with its absolute positions on the console."""

    def __init__(self, match: re.Match[str], base: int) -> None:
        self.match = match
        self.start = base + match.start()
        self.end = base + match.end()

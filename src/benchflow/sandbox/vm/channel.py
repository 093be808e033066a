"""The host's side of a machine's port: one thread reads, any may open streams."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable

from benchflow.sandbox.vm import frames
from benchflow.sandbox.vm.frames import Kind

_READ = 256 * 1024
#: Streams that programs in the guest may hold open at once, by connecting to what is forwarded.
_CONNECTIONS = 256
_THEIRS = 0x80000000
#: Real seconds after which a guest that takes nothing is given up.
_DEAF_SECONDS = 120


class Gone(Exception):
    """The machine, or its agent, went away while it was asked something."""


class Stream:
    """One command, transfer or connection. What it says is read by one thread, with `next`."""

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel = channel
        self.number = number
        self._said: deque[tuple[Kind, bytes]] = deque()
        self._waiting = 0
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._room = frames.WINDOW
        self._lock = threading.Lock()
        self.is_gone = False

    def fileno(self) -> int:
        """Readable when `next` may have something, or `room` may have grown."""
        return self._wake

    @property
    def room(self) -> int:
        """How many bytes may be sent now."""
        return self._room

    def hear(self, kind: Kind, payload: bytes) -> None:
        """A frame of the guest's; called by the channel."""
        with self._lock:
            if kind is Kind.TAKEN:
                self._room = min(self._room + frames.number_of(payload), frames.WINDOW)
            else:
                self._waiting += len(payload)
                self._said.append((kind, payload))
            # What is beyond the window was not granted: the guest's agent is not ours any more.
            too_much = self._waiting > 2 * frames.WINDOW or len(self._said) > 2 * frames.WINDOW
        if too_much:
            raise frames.OutOfStep("more than was granted")
        self._awake()

    def lose(self) -> None:
        """Nothing more will come."""
        self.is_gone = True
        self._awake()

    def next(self) -> tuple[Kind, bytes] | None:
        """What was said, in order; None when there is nothing at present. Raises Gone."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        with self._lock:
            if not self._said:
                if self.is_gone:
                    raise Gone
                return None
            kind, payload = self._said.popleft()
            self._waiting -= len(payload)
            if self._said or self.is_gone:
                self._awake()
        if kind in (Kind.OUT, Kind.ERR) and payload:
            self._channel.send(Kind.TAKEN, self.number, frames.number(len(payload)))
        return kind, payload

    def wait(self, deadline: float | None) -> tuple[Kind, bytes]:
        """The next thing that is said. Raises TimeoutError, Gone."""
        while (said := self.next()) is None:
            self.sleep(deadline)
        return said

    def send(self, data: bytes | bytearray | memoryview) -> int:
        """Send what there is room for; how many bytes that was."""
        count = min(len(data), self._room, frames.PAYLOAD)
        if count:
            with self._lock:
                self._room -= count
            self._channel.send(Kind.DATA, self.number, bytes(data[:count]))
        return count

    def end(self) -> None:
        """No more will be sent."""
        self._channel.send(Kind.END, self.number)

    def kill(self) -> None:
        """Kill all that the stream's command started."""
        self._channel.send(Kind.KILL, self.number)

    def close(self) -> None:
        """Nobody listens any more."""
        self._channel.forget(self)
        with self._lock:
            wake, self._wake = self._wake, -1
        if wake >= 0:
            os.close(wake)

    def _awake(self) -> None:
        if self._wake >= 0:
            os.eventfd_write(self._wake, 1)

    def sleep(self, deadline: float | None) -> None:
        """Until something is said, or there is room again. Raises TimeoutError."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        select.select([self._wake], [], [], left)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)


class Channel:
    """Serves one run of QEMU. `on_connection` gets each stream that the guest opens, `on_agent` is
    called for each agent that greets. Both run in the reading thread and must not block."""

    def __init__(
        self,
        port: socket.socket,
        key: bytes,
        on_connection: Callable[[Stream], None],
        on_agent: Callable[[], None],
    ) -> None:
        # A guest that does not read must not hold up who asks it something, beyond that.
        port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _DEAF_SECONDS, 0))
        self._port = port
        self._reader = frames.Reader(key)
        self._on_connection = on_connection
        self._on_agent = on_agent
        self._streams: dict[int, Stream] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._greeted = threading.Condition(self._lock)
        self._is_open = False
        self.is_dead = False
        threading.Thread(target=self._read, name="machine", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait until an agent has greeted; False when none did, or the machine is gone."""
        with self._greeted:
            self._greeted.wait_for(lambda: self._is_open or self.is_dead, seconds)
            return self._is_open and not self.is_dead

    def open(self, kind: Kind, payload: bytes) -> Stream:
        """A new stream. Raises Gone."""
        with self._lock:
            if not self._is_open or self.is_dead:
                raise Gone
            stream = Stream(self, next(self._numbers) % _THEIRS)
            self._streams[stream.number] = stream
        self.send(kind, stream.number, payload)
        return stream

    def send(self, kind: Kind, stream: int, payload: bytes = b"") -> None:
        """Send a frame; nothing happens when the machine is gone."""
        self._write(frames.frame(kind, stream, payload))

    def forget(self, stream: Stream) -> None:
        with self._lock:
            if self._streams.get(stream.number) is stream:
                del self._streams[stream.number]

    def close(self) -> None:
        """The machine is ended: who waits for it learns so."""
        with contextlib.suppress(OSError):
            self._port.shutdown(socket.SHUT_RDWR)

    def _write(self, data: bytes) -> None:
        with self._sending:
            try:
                self._port.sendall(data)
            except OSError:
                self.close()

    def _read(self) -> None:
        try:
            while data := self._port.recv(_READ):
                for item in self._reader.read(data):
                    if isinstance(item, bytes):
                        self._greet(item)
                    else:
                        self._hear(*item)
        except (OSError, frames.OutOfStep):
            pass  # as good as dead: whoever asks next switches it off and on
        self._lose_all(is_dead=True)
        self._port.close()

    def _greet(self, answer: bytes) -> None:
        """A new agent: what the one before it was at is lost."""
        self._lose_all(is_dead=False)
        self._write(answer)
        self._on_agent()
        with self._greeted:
            self._is_open = True
            self._greeted.notify_all()

    def _lose_all(self, *, is_dead: bool) -> None:
        with self._greeted:
            lost = [*self._streams.values()]
            self._streams.clear()
            self._is_open = False
            self.is_dead = is_dead
            self._greeted.notify_all()
        for stream in lost:
            stream.lose()

    def _hear(self, kind: Kind, number: int, payload: bytes) -> None:
        if kind is Kind.OPEN:
            self._connect(number)
            return
        with self._lock:
            stream = self._streams.get(number)
        if stream is not None:
            stream.hear(kind, payload)

    def _connect(self, number: int) -> None:
        with self._lock:
            count = sum(known >= _THEIRS for known in self._streams)
            if number < _THEIRS or number in self._streams:
                raise frames.OutOfStep("a connection with a number that is taken")
            if count >= _CONNECTIONS:
                stream = None
            else:
                stream = self._streams[number] = Stream(self, number)
        if stream is None:
            self.send(Kind.KILL, number)
            self.send(Kind.END, number)
        else:
            self._on_connection(stream)

"""The owner's side of one exec: send the request, pump the streams, keep the deadline."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from benchflow.errors import InfrastructureError
from benchflow.sandbox.inside import wire
from benchflow.sandbox.model import ExecResult

OnOutput = Callable[[str, bytes], None]
_CHUNK = 1 << 16
_KILL_GRACE = 30.0
#: Bytes of a stream that are kept from its beginning, and as many from its end.
_KEPT = 32 * 1024 * 1024
_GONE = "the sandbox is gone"


def run(
    channel: socket.socket,
    request: wire.Message,
    *,
    timeout: float | None,
    stdin: bytes,
    on_output: OnOutput | None,
    cancel: int | None = None,
) -> ExecResult:
    """Run one request over the packet socket of process 1. See `Sandbox.exec`."""
    with contextlib.ExitStack() as stack:
        control, theirs = socket.socketpair()
        stack.enter_context(control)
        pumps = _Pumps(stack, control, stdin, on_output, cancel)
        try:
            with theirs:
                wire.send_packet(channel, {"exec": True}, (theirs.fileno(), *pumps.theirs))
            for fd in pumps.theirs:
                os.close(fd)
            pumps.theirs = ()
            wire.send_stream(control, request)
        except OSError as error:
            raise InfrastructureError(f"{_GONE}: {error.strerror}") from error
        timed_out = not pumps.wait(None if timeout is None else time.monotonic() + timeout)
        if timed_out:
            with contextlib.suppress(OSError):
                control.send(b"k")
            if not pumps.wait(time.monotonic() + _KILL_GRACE):
                raise InfrastructureError("a timed-out command could not be killed")
        status = pumps.status
        if status is None:
            raise InfrastructureError(_GONE)
        pumps.finish(channel)
        return ExecResult(
            pumps.data["stdout"].value(), pumps.data["stderr"].value(), status, timed_out
        )


class Kept:
    """What is kept of a stream: all, or its beginning and its end around a line that says so."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = _KEPT - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) >= 2 * _KEPT:
            self._trim()

    def _trim(self) -> None:
        surplus = len(self._tail) - _KEPT
        if surplus > 0:
            del self._tail[:surplus]
            self._left_out += surplus

    def value(self) -> bytes:
        self._trim()
        if not self._left_out:
            return bytes(self._head + self._tail)
        said = f"\n[benchflow: {self._left_out} bytes are left out here]\n"
        return bytes(self._head + said.encode() + self._tail)


class _Pumps:
    """The pipes of one exec."""

    def __init__(
        self,
        stack: contextlib.ExitStack,
        control: socket.socket,
        stdin: bytes,
        on_output: OnOutput | None,
        cancel: int | None,
    ) -> None:
        self.status: int | None = None
        self.data = {"stdout": Kept(), "stderr": Kept()}
        self._control = control
        self._on_output = on_output
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._open: dict[int, str] = {}
        self._stdin = memoryview(stdin)
        self.theirs: tuple[int, ...] = ()
        stack.callback(self._close)
        if stdin:
            stdin_read, self._stdin_write = os.pipe()
            os.set_blocking(self._stdin_write, False)
            self._selector.register(self._stdin_write, selectors.EVENT_WRITE)
        else:
            stdin_read, self._stdin_write = os.open(os.devnull, os.O_RDONLY), -1
        self.theirs = (stdin_read,)
        for name in ("stdout", "stderr"):
            read, write = os.pipe()
            self._open[read] = name
            self.theirs += (write,)
            os.set_blocking(read, False)
            self._selector.register(read, selectors.EVENT_READ)
        self._selector.register(control, selectors.EVENT_READ)
        self._cancel = cancel
        if cancel is not None:
            self._selector.register(cancel, selectors.EVENT_READ)

    def _close(self) -> None:
        for fd in (*self._open, *self.theirs):
            os.close(fd)
        if self._stdin_write >= 0:
            os.close(self._stdin_write)

    def wait(self, deadline: float | None) -> bool:
        """Pump until the command has ended (True) or the deadline has come (False)."""
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            for key, _ in self._selector.select(left):
                if key.fd == self._cancel:
                    self._selector.unregister(key.fd)
                    return False
                if key.fileobj is self._control:
                    with contextlib.suppress(EOFError, ConnectionError):
                        self.status = wire.receive_stream(self._control)["status"]
                    return True
                if key.fd == self._stdin_write:
                    self._feed()
                else:
                    self._read(key.fd)

    def _feed(self) -> None:
        try:
            written = os.write(self._stdin_write, self._stdin[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            written = len(self._stdin)
        self._stdin = self._stdin[written:]
        if not self._stdin:
            self._selector.unregister(self._stdin_write)
            os.close(self._stdin_write)
            self._stdin_write = -1

    def _read(self, fd: int) -> bool:
        """Read once; False when there is nothing now or ever."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(fd)
            del self._open[fd]
            os.close(fd)
            return False
        name = self._open.get(fd, "")
        self.data[name].add(data)
        if self._on_output is not None:
            self._on_output(name, data)
        return True

    def finish(self, channel: socket.socket) -> None:
        """Take what the command left in the pipes. Pipes that a surviving daemon still holds go
        to process 1, which reads them empty: closing them would kill the daemon."""
        for fd in list(self._open):
            for _ in range(64):
                if not self._read(fd):
                    break
        if self._open:
            message: dict[str, Any] = {"drain": True}
            with contextlib.suppress(OSError):
                wire.send_packet(channel, message, tuple(self._open))

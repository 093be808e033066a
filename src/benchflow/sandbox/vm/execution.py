"""One command in a machine: its streams, its deadline, and what became of it."""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable

from benchflow.sandbox.execution import Kept
from benchflow.sandbox.model import ExecResult
from benchflow.sandbox.vm import frames
from benchflow.sandbox.vm.channel import Channel, Gone, Stream
from benchflow.sandbox.vm.frames import Kind

#: Under TCG on a busy host a machine may take its time to kill.
_KILL_GRACE = 90.0
KILLED = 137
_LOST = b"benchflow: the machine, or its agent, went away while this ran\n"
_NAMES = {Kind.OUT: "stdout", Kind.ERR: "stderr"}

OnOutput = Callable[[str, bytes], None]


class Stuck(Exception):
    """A command could not be killed: the machine does not answer any more."""


def run(
    channel: Channel,
    request: bytes,
    *,
    timeout: float | None,
    stdin: bytes,
    on_output: OnOutput | None,
    cancel: int | None,
) -> ExecResult:
    """Run one request. What was lost with the machine has status 137, and says so on its stderr.
    Raises Stuck, with what the command had printed in its first argument, and Gone where nothing
    was begun."""
    stream = channel.open(Kind.EXEC, request)
    command = _Command(stream, stdin, on_output)
    try:
        deadline = None if timeout is None else time.monotonic() + timeout
        timed_out = not command.wait(deadline, cancel)
        if timed_out:
            stream.kill()
            if not command.wait(time.monotonic() + _KILL_GRACE, None):
                raise Stuck(command.result(KILLED, timed_out=True))
        return command.result(KILLED if timed_out else command.status or 0, timed_out=timed_out)
    except Gone:
        command.heard("stderr", _LOST)
        return command.result(KILLED, timed_out=False)
    finally:
        stream.close()


class _Command:
    def __init__(self, stream: Stream, stdin: bytes, on_output: OnOutput | None) -> None:
        self.status: int | None = None
        self._stream = stream
        self._left: memoryview | None = memoryview(stdin)
        self._on_output = on_output
        self._data = {"stdout": Kept(), "stderr": Kept()}
        self._feed()

    def result(self, status: int, *, timed_out: bool) -> ExecResult:
        """What came of it so far."""
        return ExecResult(
            self._data["stdout"].value(), self._data["stderr"].value(), status, timed_out
        )

    def heard(self, name: str, data: bytes) -> None:
        """Take what was printed."""
        self._data[name].add(data)
        if self._on_output is not None:
            self._on_output(name, data)

    def wait(self, deadline: float | None, cancel: int | None) -> bool:
        """Until the command has ended (True); False at the deadline, and when it is cancelled.
        Raises Gone."""
        watched: list[Stream | int] = [self._stream, *([] if cancel is None else [cancel])]
        while self.status is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            ready = select.select(watched, [], [], left)[0]
            if cancel is not None and cancel in ready:
                return False
            self._listen(deadline)
            self._feed()
        return True

    def _listen(self, deadline: float | None) -> None:
        while self.status is None and (said := self._stream.next()) is not None:
            kind, data = said
            if kind is Kind.STATUS:
                self.status = frames.number_of(data) & 0xFF
            elif kind in _NAMES:
                self.heard(_NAMES[kind], data)
            if deadline is not None and time.monotonic() > deadline:
                return

    def _feed(self) -> None:
        if self._left is None:
            return
        while self._left and (count := self._stream.send(self._left)):
            self._left = self._left[count:]
        if not self._left:
            self._stream.end()
            self._left = None


def sync(channel: Channel, seconds: float) -> None:
    """Have what is in the machine's memory written to its disk, as far as that is to be had."""
    with contextlib.suppress(Gone, TimeoutError):
        stream = channel.open(Kind.SYNC, b"")
        try:
            deadline = time.monotonic() + seconds
            while stream.wait(deadline)[0] is not Kind.STATUS:
                continue
        finally:
            stream.close()

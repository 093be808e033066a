"""A program in a namespace sandbox with descriptors of ours as its streams."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Mapping, Sequence

from benchflow.errors import InfrastructureError
from benchflow.sandbox.inside import wire
from benchflow.sandbox.namespace import Sandbox


class Spawned:
    """A running program. `fds`: its stdin, stdout and stderr; the caller still has its copies."""

    def __init__(
        self, box: Sandbox, argv: Sequence[str], fds: tuple[int, int, int], env: Mapping[str, str]
    ) -> None:
        self._control, theirs = socket.socketpair()
        self._status: int | None = None
        request = {"argv": [*argv], "user": "root", "cwd": "/", "env": {**box.env, **env}}
        try:
            with theirs:
                box.ask({"exec": True}, (theirs.fileno(), *fds))
            wire.send_stream(self._control, request)
        except OSError as error:
            self._control.close()
            raise InfrastructureError(f"the sandbox is gone: {error.strerror}") from error

    def wait(self, seconds: float | None) -> int | None:
        """The exit status (128 + n for a death by signal n), None while it runs; -1 when the
        sandbox has gone with it."""
        if self._status is None and select.select([self._control], [], [], seconds)[0]:
            try:
                self._status = int(wire.receive_stream(self._control)["status"])
            except (EOFError, OSError):
                self._status = -1
        return self._status

    def kill(self) -> None:
        """Kill it and all that it started."""
        if self._status is None:
            with contextlib.suppress(OSError):
                self._control.send(b"k")

    def close(self) -> None:
        """Ask no more of it."""
        if self._status is None:
            self._status = -1
        self._control.close()


def relay(box: Sandbox, ours: socket.socket, port: int) -> Spawned:
    """Connect a socket of ours to a port of the sandbox's own loopback."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        argv = ["socat", "-t3600", "FD:0,shut-down", f"TCP:127.0.0.1:{port}"]
        return Spawned(box, argv, (ours.fileno(), ours.fileno(), null), {})
    finally:
        os.close(null)

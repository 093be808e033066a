"""One run of QEMU in its room: its process, the channel to its guest, the end of its console."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from benchflow.base.text import one_line
from benchflow.errors import InfrastructureError
from benchflow.sandbox.namespace import Sandbox
from benchflow.sandbox.vm import connection, frames, qemu
from benchflow.sandbox.vm.channel import Channel, Stream
from benchflow.sandbox.vm.frames import Kind
from benchflow.sandbox.vm.spawn import Spawned, relay

_TAIL = 16 * 1024
_DEATH_SECONDS = 30.0
_POLL = 0.5


class Engine:
    """QEMU from its start to its end. What programs in the guest send to `port` at their own
    loopback comes out at the room's."""

    def __init__(self, room: Sandbox, spec: qemu.Spec, port: int | None) -> None:
        self._room = room
        self._console = b""
        self._relays: set[Spawned] = set()
        self._port = port
        ours, theirs = socket.socketpair()
        heard, told = socket.socketpair()
        try:
            streams = (theirs.fileno(), told.fileno(), told.fileno())
            self._process = Spawned(room, qemu.command(spec), streams, {})
        except BaseException:
            ours.close()
            heard.close()
            raise
        finally:
            theirs.close()
            told.close()
        self.channel = Channel(ours, spec.key, self._connect, self._greeted)
        self._reader = threading.Thread(target=self._read, args=(heard,), daemon=True)
        self._reader.start()

    @property
    def status(self) -> int | None:
        """QEMU's exit status; None while it runs. 0: its guest has switched itself off."""
        return self._process.wait(0)

    @property
    def said(self) -> str:
        """The last words of console and QEMU, made safe."""
        return one_line(self._console.decode("utf-8", "replace")[-1500:], 600)

    def wait_for_agent(self, seconds: float) -> bool:
        """Wait until the guest's agent answers; False when QEMU ends, or the time has come."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.status is None and not self.channel.is_dead:
            if self.channel.wait(_POLL):
                return True
        return self.channel.wait(0)

    def wait(self, seconds: float) -> int | None:
        """QEMU's exit status, None when it still runs after `seconds`."""
        return self._process.wait(seconds)

    def forward(self, port: int) -> None:
        """Have the guest's agent listen. One that was started since has to be told again."""
        self._port = port
        self.channel.send(Kind.LISTEN, 0, frames.number(port))

    def kill(self) -> None:
        """Switch it off at once, as by the plug."""
        self._process.kill()
        self.channel.close()
        self._process.wait(_DEATH_SECONDS)
        self._process.close()
        self._reader.join(_DEATH_SECONDS)
        for each in [*self._relays]:
            each.kill()

    def _greeted(self) -> None:
        if self._port is not None:
            self.forward(self._port)

    def _read(self, console: socket.socket) -> None:
        with console, contextlib.suppress(OSError):
            while data := console.recv(_TAIL):
                self._console = (self._console + data)[-_TAIL:]

    def _connect(self, stream: Stream) -> None:
        threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: Stream) -> None:
        """Carry one connection of a program's in the guest to the port that it asked for."""
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    carrier = relay(self._room, theirs, self._port or 0)
            except (OSError, InfrastructureError):
                stream.kill()
                stream.end()
                stream.close()
                return
            self._relays.add(carrier)
            try:
                connection.carry(stream, ours)
            finally:
                carrier.kill()
                self._relays.discard(carrier)
                carrier.close()

"""QMP, QEMU's control channel, for synchronous callers."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

from qemu.qmp import (
    ExecInterruptedError,
    ExecuteError,
    QMPClient,
    QMPError,
    StateError,
)
from qemu.qmp.protocol import Runstate

from benchflow.boot.errors import QemuFailed
from benchflow.boot.machine.io_thread import io_loop

ANSWER_SECONDS = 60.0  # real ones

Event = dict[str, Any]

# The library logs the end of every connection as an error; a killed QEMU is our daily bread.
logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)


class CommandRefused(Exception):
    """QEMU answered a command with an error; the text is QEMU's."""


class Monitor:
    """A QMP session over an already connected socket. `on_event` is called in the loop's thread."""

    def __init__(self, name: str, on_event: Callable[[Event], None]) -> None:
        self._client = QMPClient(name)
        self._on_event = on_event
        self._reader: asyncio.Task[None] | None = None

    async def connect(self, sock: socket.socket) -> None:
        """Negotiate; raises `qemu.qmp.ConnectError` when QEMU is gone already."""
        await self._client.connect(sock)
        self._reader = asyncio.ensure_future(self._pump())

    async def close(self) -> None:
        """End the session; never raises for a QEMU that went away first."""
        if self._reader is not None:
            self._reader.cancel()
        if self._client.runstate != Runstate.IDLE:
            try:
                await self._client.disconnect()
            except (QMPError, EOFError, OSError):
                return  # the other side was killed: that is how most machines end

    def execute(
        self, command: str, more: Callable[[], bool] = lambda: False, **arguments: Any
    ) -> Any:
        """Run a QMP command and return its result.

        `more` is asked each `ANSWER_SECONDS` without an answer: whether to wait as long again.
        Raises CommandRefused when QEMU says no, QemuFailed when it does not answer.
        """
        request = {name.replace("_", "-"): value for name, value in arguments.items()}
        try:
            return io_loop().run(
                self._client.execute(command, request or None), ANSWER_SECONDS, more
            )
        except ExecuteError as error:
            raise CommandRefused(str(error)) from error
        except (TimeoutError, StateError, ExecInterruptedError, EOFError, OSError) as error:
            raise QemuFailed(f"QEMU did not answer the QMP command {command}: {error!r}") from error

    async def request(self, command: str, **arguments: Any) -> Any:
        """`execute` for callers that are in the background thread themselves."""
        return await self._client.execute(command, arguments or None)

    async def _pump(self) -> None:
        async for event in self._client.events:
            self._on_event(dict(event))

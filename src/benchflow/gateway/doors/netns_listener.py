"""The doors of a gateway: one listening socket in each sandbox, born in its network namespace."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import override

from aiohttp import web

from benchflow.base.process_identity import Process
from benchflow.errors import InfrastructureError

#: Where a sandbox finds the gateway, on its own loopback.
PORT = 4141
_PROGRAM = Path(__file__).with_name("netns_listen.py")

#: Connections of one sandbox; each costs the host a descriptor and memory. Those that come in one
#: turn of the loop (100) see the same count, so there may be as many more.
_MOST = 256

type Handler = Callable[[web.BaseRequest, str], Awaitable[web.StreamResponse]]


class _Full(asyncio.Protocol):
    """Closes what is one connection too many."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class Doors:
    """Opens doors and closes those whose sandbox is gone."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._open: dict[str, tuple[Process, asyncio.Server]] = {}
        self._outside: dict[str, asyncio.Server] = {}

    async def open(self, trial: str, inhabitant: Process) -> str:
        """Give the sandbox of a process a door for a trial; returns the URL that holds inside.

        Opening it again is no error. Raises InfrastructureError.
        """
        known = self._open.get(trial)
        if known is not None and known[0] == inhabitant:
            return f"http://127.0.0.1:{PORT}"
        if known is not None:
            self.close(trial)
        listener = await asyncio.to_thread(listen_inside, inhabitant.pid, PORT)
        server = web.Server(lambda asked: self._handle(asked, trial), access_log=None)

        def welcome() -> asyncio.BaseProtocol:
            return server() if len(server.connections) < _MOST else _Full()

        listening = await asyncio.get_running_loop().create_server(welcome, sock=listener)
        self._open[trial] = (inhabitant, listening)
        return f"http://127.0.0.1:{PORT}"

    async def outside(self, host: str) -> str:
        """Listen for agents of other machines on an address of this one; returns the URL. Only
        those who have the token of an open trial are answered."""
        known = self._outside.get(host)
        if known is None:
            server = web.Server(lambda asked: self._handle(asked, ""), access_log=None)
            known = await asyncio.get_running_loop().create_server(server, host, 0, backlog=1024)
            self._outside[host] = known
        return f"http://{host}:{known.sockets[0].getsockname()[1]}"

    def close(self, trial: str) -> None:
        """Close a trial's door, if it has one."""
        known = self._open.pop(trial, None)
        if known is not None:
            known[1].close()

    def sweep(self) -> int:
        """Close the doors of dead sandboxes; returns how many are left."""
        for trial, (inhabitant, _) in [*self._open.items()]:
            if not inhabitant.alive:
                self.close(trial)
        return len(self._open)


def listen_inside(pid: int, port: int) -> socket.socket:
    """A socket that listens on 127.0.0.1:`port` in the network namespace of process `pid`.

    The caller must be root, or the user that made the sandbox. Raises InfrastructureError.
    """
    import array
    import subprocess

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(30)
    with ours:
        command = [sys.executable, "-I", "-S", str(_PROGRAM), str(pid), str(port)]
        with theirs:
            helper = subprocess.Popen(
                [*command, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
            )
        descriptors = array.array("i")
        try:
            text, ancillary, _, _ = ours.recvmsg(4096, socket.CMSG_LEN(descriptors.itemsize))
        except TimeoutError:
            helper.kill()
            text, ancillary = b"it did not answer", []
        helper.wait()
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if not descriptors:
        why = text.decode("utf-8", "replace") or "its helper died"
        raise InfrastructureError(
            f"the model gateway cannot listen inside the sandbox: {why}",
            hint="is the sandbox still alive, and of the same user?",
        )
    return socket.socket(fileno=descriptors[0])

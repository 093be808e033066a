"""A running QEMU: its process, its two sockets, and how it ended."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence

from qemu.qmp import QMPError

from benchflow.boot import memory
from benchflow.boot.errors import ToolMissing
from benchflow.boot.machine.io_thread import io_loop
from benchflow.boot.machine.qmp import Event, Monitor

STDERR_MAX = 16 * 1024
HANDSHAKE_SECONDS = 120.0
_READ = 64 * 1024


def sockets() -> tuple[socket.socket, socket.socket]:
    """(our end, QEMU's end) of an anonymous stream: no path on disk that could be raced."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)


class Process:
    """QEMU in a session of its own; it dies with us and cannot fill the disk. See `start`.

    `on_output` gets what the guest prints, `on_event` QMP's events, `on_exit` is called once,
    after the last output: all in the background thread.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        serial: tuple[socket.socket, socket.socket],
        qmp: tuple[socket.socket, socket.socket],
        extra_fds: Sequence[int] = (),
        file_size_limit: int,
        on_output: Callable[[bytes], None],
        on_event: Callable[[Event], None],
        on_exit: Callable[[], None],
    ) -> None:
        self._argv = _limited(argv, file_size_limit)
        self.monitor = Monitor(argv[0], on_event)
        self._on_output = on_output
        self._on_exit = on_exit
        self._serial = serial[0]
        self._unsent = bytearray()
        self._errors = -1  # our end of QEMU's standard error
        self._complaint = b""
        self._finished = threading.Event()
        self._greeted = threading.Event()
        self.killed = False
        self.processors: list[int] = []  # the threads that are the guest's processors
        self._qmp = qmp
        self._given = (serial[1], qmp[1])
        self._fds = (serial[1].fileno(), qmp[1].fileno(), *extra_fds)
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        """Start QEMU and greet it over QMP; False when it ended instead of answering."""
        try:
            self._child = io_loop().run(self._start())
        finally:
            for end in self._given:
                end.close()
        try:
            io_loop().run(self.monitor.connect(self._qmp[0]), HANDSHAKE_SECONDS)
            asked = self.monitor.request("query-cpus-fast")
            found = io_loop().run(asked, HANDSHAKE_SECONDS)
            self.processors = [int(processor["thread-id"]) for processor in found]
        except (QMPError, EOFError, OSError):  # ConnectError and TimeoutError among them
            return False
        finally:
            self._greeted.set()
        return True

    @property
    def pid(self) -> int:
        """The process id; 0 before the start."""
        return self._child.pid if self._child else 0

    @property
    def status(self) -> int | None:
        """The exit status (negative: the signal), None while it runs."""
        return self._child.returncode if self._child else None

    @property
    def stderr(self) -> str:
        """The end of what QEMU itself complained about."""
        return self._complaint.decode(errors="replace").strip()

    def write(self, data: bytes) -> None:
        """Send bytes to the guest's serial port, as fast as it takes them."""
        io_loop().call(self._write, data)

    def kill(self) -> None:
        """kill -9, and wait for the end."""
        self.killed = True
        if self._child is not None:
            self._child.kill()
            self.wait(30)

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False when it still runs after real seconds."""
        return self._finished.wait(seconds)

    async def _start(self) -> subprocess.Popen[bytes]:
        # Not a file: a guest that makes a device complain again and again would fill the disk.
        self._errors, given = os.pipe()
        try:
            child = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=given,
                pass_fds=self._fds,
                start_new_session=True,
                # Python ignores SIGXFSZ; so does QEMU then, and the guest sees an I/O error
                # where QEMU would have died at the limit.
                restore_signals=False,
            )
        except OSError:
            os.close(self._errors)
            raise
        finally:
            os.close(given)
        self._child = child
        os.set_blocking(self._errors, False)
        asyncio.get_running_loop().add_reader(self._errors, self._complained)
        self._serial.setblocking(False)
        asyncio.get_running_loop().add_reader(self._serial, self._readable)
        return child

    def drain(self) -> None:
        """Take what the guest printed up to now. Only for the background thread."""
        while self._serial.fileno() >= 0 and select.select([self._serial], [], [], 0)[0]:
            self._readable()

    def _readable(self) -> None:
        try:
            data = self._serial.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_output(data)
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._serial)
        loop.remove_writer(self._serial)
        self._serial.close()
        # The console is at its end, so QEMU is ending: what is left of it is a few milliseconds.
        threading.Thread(target=self._reap, daemon=True).start()

    def _reap(self) -> None:
        assert self._child is not None
        self._child.wait()
        self._greeted.wait()
        io_loop().run(self.monitor.close())
        io_loop().run(self._all_complained())
        self._on_exit()
        self._finished.set()

    def _complained(self) -> bool:
        """Take some of QEMU's complaints; False when there is no more."""
        try:
            data = os.read(self._errors, _READ)
        except BlockingIOError:
            return False
        self._complaint = (self._complaint + data)[-STDERR_MAX:]
        if not data:
            asyncio.get_running_loop().remove_reader(self._errors)
        return bool(data)

    async def _all_complained(self) -> None:
        while self._complained():
            pass
        asyncio.get_running_loop().remove_reader(self._errors)
        os.close(self._errors)

    def _write(self, data: bytes) -> None:
        self._unsent += data
        self._writable()

    def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        if self._serial.fileno() < 0:
            self._unsent.clear()
            return
        try:
            sent = self._serial.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(self._unsent)
        del self._unsent[:sent]
        if self._unsent:
            loop.add_writer(self._serial, self._writable)
        else:
            loop.remove_writer(self._serial)


def _limited(argv: Sequence[str], file_size_limit: int) -> list[str]:
    """`argv` behind util-linux programs that set the limits and then become it (same pid)."""
    for tool in ("prlimit", "setpriv"):
        if shutil.which(tool) is None:
            raise ToolMissing(f"{tool} is not installed (Debian package util-linux)")
    # Its memory is looked after (see guard): this process's own bound would be the wrong one.
    limits = ["prlimit", "--core=0", f"--fsize={file_size_limit}", memory.unbound()]
    return [*limits, "setpriv", "--pdeathsig", "KILL", *argv]

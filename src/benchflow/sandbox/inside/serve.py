"""The loop of process 1: takes requests, reaps, and keeps commands whose warden was killed."""

from __future__ import annotations

import _socket as socket
import os
import select
import signal

from benchflow.sandbox.inside import exec_warden, transfer_server, wire

_KILLED = 128 + signal.SIGKILL


class Server:
    """Serves the owner until it is gone."""

    def __init__(self, owner: socket.socket, spec: wire.Message) -> None:
        self._owner = owner
        self._spec = spec
        self._poller = select.poll()
        self._woken, wake = os.pipe()
        self._news, self._tell = os.pipe()
        for fd in (self._woken, wake, self._news):
            os.set_blocking(fd, False)
        for fd in (owner.fileno(), self._woken, self._news):
            self._poller.register(fd, select.POLLIN)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Wardens and the command that each has said it started; commands that lost their warden.
        self._wardens: dict[int, socket.socket] = {}
        self._mains: dict[int, int] = {}
        self._adopted: dict[int, socket.socket] = {}

    def run(self) -> None:
        """Does not return."""
        while True:
            for fd, _events in self._poller.poll():
                if fd == self._woken:
                    os.read(fd, 4096)
                    self._read_news()
                    self._reap()
                elif fd == self._news:
                    self._read_news()
                elif fd == self._owner.fileno():
                    if not self._request():
                        os._exit(0)
                else:
                    self._orphan_or_drain(fd)

    def _request(self) -> bool:
        try:
            request, fds = wire.receive_packet(self._owner)
        except (EOFError, ConnectionResetError):
            return False
        if "drain" in request:
            for fd in fds:
                os.set_blocking(fd, False)
                self._poller.register(fd, select.POLLIN)
            return True
        try:
            child = os.fork()
        except OSError as error:  # the limit on processes is reached: that is the command's fault
            if "exec" in request:
                os.write(fds[3], f"benchflow: cannot start: {error.strerror}\n".encode())
                _report(socket.socket(fileno=fds.pop(0)), 126)
            else:
                _refuse(socket.socket(fileno=fds.pop(0)), error)
            child = -1
        if child == 0:
            self._serve_one(request, fds)
        if child > 0 and "exec" in request:
            self._wardens[child] = socket.socket(fileno=fds.pop(0))
        for fd in fds:
            os.close(fd)
        return True

    def _serve_one(self, request: wire.Message, fds: list[int]) -> None:
        try:
            self._owner.close()
            for control in (*self._wardens.values(), *self._adopted.values()):
                control.close()
            if "porter" in request:
                transfer_server.main(fds[0])
            else:
                exec_warden.warden(fds, self._spec, self._tell)
        finally:
            os._exit(127)

    def _read_news(self) -> None:
        try:
            lines = os.read(self._news, 65536).split(b"\n")
        except BlockingIOError:
            return
        for line in lines:
            if line:
                warden, main = line.split()
                self._mains[int(warden)] = int(main)

    def _reap(self) -> None:
        orphans: dict[int, int] = {}
        lost: list[int] = []
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid in self._adopted:
                    self._poller.unregister(self._adopted[pid].fileno())
                    _report(self._adopted.pop(pid), _code(status))
                elif pid in self._wardens:
                    if status:
                        lost.append(pid)
                    else:
                        self._wardens.pop(pid).close()
                        self._mains.pop(pid, None)
                else:
                    orphans[pid] = _code(status)
        except ChildProcessError:
            pass
        for warden in lost:
            self._adopt(self._wardens.pop(warden), self._mains.pop(warden, 0), orphans)

    def _adopt(self, control: socket.socket, main: int, orphans: dict[int, int]) -> None:
        """A warden was killed by what it guards. Its command, if it lives, is ours now."""
        if main in orphans or not main:
            _report(control, orphans.get(main, _KILLED))
            return
        self._adopted[main] = control
        self._poller.register(control.fileno(), select.POLLIN)

    def _orphan_or_drain(self, fd: int) -> None:
        for main, control in self._adopted.items():
            if control.fileno() == fd:
                # Its timeout. Who killed the warden hid what belongs to whom: all that no other
                # warden guards goes.
                self._poller.unregister(control.fileno())
                exec_warden.kill_unguarded(set(self._wardens))
                _report(self._adopted.pop(main), _KILLED)
                return
        _drain(fd, self._poller)


def _report(control: socket.socket, status: int) -> None:
    try:
        wire.send_stream(control, {"status": status})
    except OSError:  # the owner no longer waits for it
        pass
    finally:
        control.close()


def _refuse(channel: socket.socket, error: OSError) -> None:
    try:
        wire.send_packet(
            channel, {"error": f"cannot start: {error.strerror}", "errno": error.errno}
        )
    except OSError:  # the owner no longer waits for it
        pass
    finally:
        channel.close()


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _drain(fd: int, poller: select.poll) -> None:
    """Swallow what a surviving daemon still prints, so that printing does not kill it."""
    try:
        if os.read(fd, 65536):
            return
    except BlockingIOError:
        return
    poller.unregister(fd)
    os.close(fd)

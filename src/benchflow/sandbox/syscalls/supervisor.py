"""The supervisor: lets distribution tools make device nodes in a sandbox that may not.

Inside a user namespace the kernel refuses `mknod` of every device and a second sysfs, so
debootstrap, `cp -a /dev/null`, tar and live-build's chroot steps fail. The sandbox's first
process installs a seccomp filter (`notify`); the calls that it stops are answered here, by the
one thing that the kernel does allow: mounting the sandbox's *own* /dev/null (and so on) over an
empty file where the node was asked for. Block devices and everything else fall through to the
kernel's refusal. Because the filter sits below the system call, static programs work too.

`serve` must run in the sandbox's user namespace, as its root, and outside its pid namespace:
with no power over the host, and where nothing inside can see, signal or trace it. Its input is
hostile all the same. Memory of the caller is read once; the notification is checked to be alive
after everything that was opened by pid; children act on descriptors and are killed after a
deadline, for a hostile file system may never answer.

    process 1     listener = notify.install(); send it out with its mount namespace and root
    outside       if os.fork() == 0: supervisor.serve(listener, mount_namespace, root)
"""

# pathlib, dataclasses and contextlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH116

from __future__ import annotations

import errno
import os
import select
import signal
import struct
import time

from benchflow.sandbox.syscalls import device_nodes, seccomp_notify
from benchflow.sandbox.syscalls.seccomp_notify import Notification

_PATH_MAX = 4096
_DEADLINE_S = 10.0
_MAX_CHILDREN = 16
_AT_FDCWD = -100
_MAX_NAMES = 4096
_REMOVALS = ("unlink", "unlinkat")

# Capabilities (linux/capability.h) that a caller must have in force: the kernel would ask for
# CAP_MKNOD or CAP_SYS_ADMIN, and we act with CAP_DAC_OVERRIDE, so that is asked for too.
_DAC_OVERRIDE, _SYS_ADMIN, _MKNOD = 1 << 1, 1 << 21, 1 << 27


class _Gone(Exception):
    """The caller died, or is nothing that we answer: the kernel may have it."""


class _Caller:
    """Handles on a stopped process, all opened before its notification was seen alive."""

    def __init__(self, pid: int) -> None:
        self.process = os.open(f"/proc/{pid}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self.fds: list[int] = []
        try:
            self.memory = self.open("mem", os.O_RDONLY)
        except OSError:
            os.close(self.process)
            raise

    def open(self, name: str, flags: int) -> int:
        fd = os.open(name, flags | os.O_CLOEXEC, dir_fd=self.process)
        self.fds.append(fd)
        return fd

    def text(self, address: int) -> bytes:
        """A C string of at most PATH_MAX bytes, read once, page by page up to its end."""
        data = b""
        if address >> 63:  # no address of a program's, and more than pread takes
            raise OSError(errno.EFAULT, "bad address")
        while len(data) < _PATH_MAX and b"\0" not in data:
            start = address + len(data)
            data += os.pread(self.memory, 4096 - start % 4096, start) or b"\0"
        text, end, _ = data[:_PATH_MAX].partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG, "path too long")
        return text

    def effective(self) -> int:
        status = self.open("status", os.O_RDONLY)
        for line in os.pread(status, 8192, 0).splitlines():
            if line.startswith(b"CapEff:"):
                return int(line.split()[1], 16)
        return 0

    def close(self) -> None:
        for fd in (*self.fds, self.process):
            os.close(fd)


class _Pending:
    def __init__(self, notification: Notification, made: bytes) -> None:
        self.notification = notification
        self.made = made
        self.deadline = time.monotonic() + _DEADLINE_S


class Supervisor:
    """Serves one listener. `mounts` and `root` (O_PATH) are those of the sandbox's process 1,
    whose /dev and /sys are what the answers show elsewhere."""

    def __init__(self, listener: int, mounts: int, root: int) -> None:
        self._listener = listener
        self._place = (mounts, root)
        self._user = os.stat("/proc/self/ns/user")
        self._children: dict[int, _Pending] = {}
        self._nodes: set[bytes] = set()
        self._poller = select.poll()
        self._poller.register(listener, select.POLLIN)

    def run(self) -> None:
        """Serve until no process is left under the filter."""
        seccomp_notify.prefer_same_cpu(self._listener)
        while True:
            for fd, events in self._poller.poll(1000 if self._children else None):
                if fd != self._listener:
                    self._poller.unregister(fd)
                    os.close(fd)
                elif events & select.POLLIN:
                    self._receive()
                elif events & select.POLLHUP:
                    return
            self._reap()

    def _receive(self) -> None:
        notification = seccomp_notify.receive(self._listener)
        if notification is None:
            return
        if (notification.call in _REMOVALS and not self._nodes) or len(
            self._children
        ) >= _MAX_CHILDREN:
            seccomp_notify.let_kernel_decide(self._listener, notification)
            return
        try:
            self._begin(notification)
        except (OSError, ValueError, OverflowError, _Gone):
            # What is not understood is not answered; nothing inside may end the supervisor.
            seccomp_notify.let_kernel_decide(self._listener, notification)

    def _begin(self, notification: Notification) -> None:
        caller = _Caller(notification.pid)
        try:
            work = self._plan(caller, notification)
            if not seccomp_notify.still_waiting(self._listener, notification):
                raise _Gone
            pid = device_nodes.in_child(work.act)
        finally:
            caller.close()
        self._poller.register(os.pidfd_open(pid), select.POLLIN)
        self._children[pid] = _Pending(notification, work.made)

    def _plan(self, caller: _Caller, notification: Notification) -> _Work:
        call, args = notification.call, notification.args
        if call == "unlink" or call == "mknod":
            at, rest = _AT_FDCWD, args
        elif call == "unlinkat" or call == "mknodat":
            at, rest = _signed(args[0]), args[1:]
        elif call == "mount":
            return self._plan_mount(caller, args)
        else:
            raise _Gone
        path = caller.text(rest[0])
        if call in _REMOVALS:
            if _name(path) not in self._nodes:
                raise _Gone
            self._require(caller, _SYS_ADMIN)
            return _Work(self._place, caller, path, at=at)
        mode, number = rest[1] & 0xFFFF, rest[2] & 0xFFFFFFFF
        source = device_nodes.device_source(number)
        if mode & 0o170000 != 0o020000 or source is None:
            raise _Gone
        self._require(caller, _MKNOD)
        return _Work(
            self._place,
            caller,
            path,
            at=at,
            source=source,
            number=number,
            made=_name(path),
        )

    def _plan_mount(self, caller: _Caller, args: tuple[int, ...]) -> _Work:
        kind = caller.text(args[2]).decode("ascii", "replace") if args[2] else ""
        if kind not in device_nodes.ANSWERED_FILESYSTEMS:
            raise _Gone
        self._require(caller, _SYS_ADMIN)
        source = b"/sys" if kind == "sysfs" else b"/dev"
        return _Work(self._place, caller, caller.text(args[1]), source=source)

    def _require(self, caller: _Caller, capability: int) -> None:
        """The caller must be the sandbox's own root, in its own user namespace."""
        user = os.stat("ns/user", dir_fd=caller.process)
        same = (user.st_dev, user.st_ino) == (self._user.st_dev, self._user.st_ino)
        needed = capability | _DAC_OVERRIDE
        if not same or caller.effective() & needed != needed:
            raise _Gone

    def _reap(self) -> None:
        now = time.monotonic()
        for pid, pending in list(self._children.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and now < pending.deadline:
                continue
            if not done:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            del self._children[pid]
            code = os.waitstatus_to_exitcode(status) if done else errno.ETIMEDOUT
            removal = pending.notification.call in _REMOVALS
            if removal or code in (errno.EPERM, errno.ENOSYS) or code < 0:
                seccomp_notify.let_kernel_decide(self._listener, pending.notification)
            else:
                seccomp_notify.answer(self._listener, pending.notification, code)
            if code == 0 and pending.made and len(self._nodes) < _MAX_NAMES:
                self._nodes.add(pending.made)


class _Work:
    """One answer: everything is opened when it is made; `act` runs in a child."""

    def __init__(
        self,
        place: tuple[int, int],
        caller: _Caller,
        path: bytes,
        *,
        at: int = _AT_FDCWD,
        source: bytes = b"",
        number: int = 0,
        made: bytes = b"",
    ) -> None:
        self.made = made
        self._place, self._path = place, path
        self._source, self._number = source, number
        self._mounts = caller.open("ns/mnt", os.O_RDONLY)
        self._root = caller.open("root", os.O_PATH)
        start = "cwd" if at == _AT_FDCWD else f"fd/{at}"
        self._directory = caller.open(start, os.O_PATH)

    def act(self) -> None:
        if not self._source:
            device_nodes.enter(self._mounts, self._root, self._directory)
            device_nodes.uncover(_AT_FDCWD, self._path)
            return
        device_nodes.enter(*self._place, None)
        tree = device_nodes.clone_tree(self._source)
        if self._number:
            device_nodes.check_device(tree, self._number)
        elif self._source == b"/sys":
            device_nodes.make_read_only(tree)
        device_nodes.enter(self._mounts, self._root, self._directory)
        if self._number:
            device_nodes.bind_device(tree, _AT_FDCWD, self._path)
        else:
            device_nodes.bind_filesystem(tree, self._path)


def _name(path: bytes) -> bytes:
    return path.rstrip(b"/").rpartition(b"/")[2]


def _signed(value: int) -> int:
    (number,) = struct.unpack("=i", struct.pack("=I", value & 0xFFFFFFFF))
    assert isinstance(number, int)
    return number


def serve(listener: int, mounts: int, root: int) -> None:
    """Answer until the sandbox is gone. Keeps no descriptor but the three that it was given."""
    kept = sorted({2, listener, mounts, root})
    for below, above in zip([-1, *kept], [*kept, os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(below + 1, above)
    os.chdir("/")
    os.umask(0)
    Supervisor(listener, mounts, root).run()

"""Process 1 of a sandbox: builds the root, serves exec requests, reaps."""

# pathlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH103, PTH108

from __future__ import annotations

import _socket as socket
import fcntl
import os
import signal
import struct
import sys
import warnings  # os.execvpe imports it, when nothing can be imported any more

from benchflow.sandbox.inside import exec_warden, kernel_calls, mounts, serve, wire
from benchflow.sandbox.syscalls import seccomp_notify

_ = warnings
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def run(owner: socket.socket, outside: socket.socket, spec: wire.Message) -> None:
    """Build the sandbox, say ready, and serve until the owner is gone."""
    wire.receive_packet(owner)
    # Only now is the helper our parent: the process in between, which forked us, has gone.
    kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    os.unshare(
        os.CLONE_NEWNS
        | os.CLONE_NEWIPC
        | os.CLONE_NEWUTS
        | os.CLONE_NEWNET
        | getattr(os, "CLONE_NEWCGROUP", 0)
    )
    device_nodes = ""
    if spec["only_files"]:
        mounts.build_files(spec)
        _forget_imports()
    else:
        _make_machine(outside, spec)
        _forget_imports()
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        kernel_calls.set_name("benchflow-init")
        device_nodes = _supervise(outside, spec)
    wire.send_packet(owner, {"ready": True, "device_nodes": device_nodes})
    serve.Server(owner, spec).run()


def _make_machine(outside: socket.socket, spec: wire.Message) -> None:
    _loopback_up()
    ready = _request_network(outside, spec)
    socket.sethostname(spec["hostname"])
    exec_warden.hold_proc(mounts.build(spec))
    _write_files(spec["files"])
    # Where the image has something else in the way, each command will say so.
    try:
        os.makedirs(spec["workdir"], exist_ok=True)
    except OSError as error:
        os.write(2, f"working directory: {error}\n".encode())
    if ready is not None and os.read(ready, 1) != b"1":
        raise RuntimeError("the user-mode network (slirp4netns) did not start")


def _forget_imports() -> None:
    """No module may be imported from the file system that the sandboxed programs write."""
    sys.path.clear()
    sys.meta_path.clear()


def _supervise(outside: socket.socket, spec: wire.Message) -> str:
    """Have device nodes and sysfs answered by the supervisor; where the kernel has no listeners
    for us, by a `mknod` in PATH. Says which."""
    try:
        listener = seccomp_notify.install()
    except OSError as error:
        _write_files({"/usr/local/sbin/mknod": spec["mknod"]}, 0o755)
        return f"a mknod in PATH (no seccomp listener: {error.strerror})"
    place = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    wire.send_packet(outside, {"supervise": True}, (listener, place, root))
    for fd in (listener, place, root):
        os.close(fd)
    return "answered by seccomp notification"


def _loopback_up() -> None:
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = fcntl.ioctl(control.fileno(), _SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
    flags = struct.unpack("16sh14x", request)[1] | _IFF_UP
    fcntl.ioctl(control.fileno(), _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))
    control.close()


def _request_network(outside: socket.socket, spec: wire.Message) -> int | None:
    if spec["network"] != "user":
        return None
    netns = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    read, write = os.pipe()
    wire.send_packet(outside, {"network": "user"}, (netns, write))
    os.close(netns)
    os.close(write)
    return read


def _write_files(files: dict[str, str], mode: int = 0o644) -> None:
    for path, text in files.items():
        if os.path.lexists(path):
            os.unlink(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        os.write(fd, text.encode())
        os.close(fd)

"""Makes the namespaces of one sandbox, starts its process 1 and waits for it.

Run as `python -I -S -c … <fd>`, where fd is a packet socket to the owner:

    owner -> spec                          what to make
    helper -> {"map": true}                a user namespace exists: write its id map
    owner -> {"mapped": true}
    helper -> {"init": pid}                process 1 exists: put it into its cgroup
    owner -> {"go": true}
    helper -> {"ready": true}              from here on process 1 takes exec requests

Any failure is answered by {"error": text}. The end of the owner ends the socket, process 1 leaves
when it ends, and the kernel then kills everything in its pid namespace.
"""

# pathlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH119, PTH123, PTH208

from __future__ import annotations

import _socket as socket
import gc
import os
import select
import sys

from benchflow.sandbox.inside import disk_limit, egress_filter, init, kernel_calls, mounts, wire
from benchflow.sandbox.syscalls import supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    owner = socket.socket(fileno=int(sys.argv[1]))
    # What is forked from here lives briefly or idles: no collection, and no page copied for one.
    gc.disable()
    gc.freeze()
    try:
        _launch(owner)
    except BaseException as error:
        _report(owner, error)
        sys.stderr.flush()
        os._exit(1)


def _report(owner: socket.socket, error: BaseException) -> None:
    """Say what failed and where. The traceback module would read source files, which may be out
    of reach, or not ours, by now."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}")
        trace = trace.tb_next
    text = f"{type(error).__name__}: {error} ({' > '.join(places[-4:])})"
    try:
        wire.send_packet(owner, {"error": text})
    except OSError:
        sys.stderr.write(text + "\n")


def _launch(owner: socket.socket) -> None:
    spec, _ = wire.receive_packet(owner)
    kernel_calls.set_name("benchflow-box")
    # When the host itself runs out of memory, sandboxes go before anything else of its user.
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("200")
    if spec["privileged"]:
        os.unshare(os.CLONE_NEWNS)
        mounts.stage(spec, mounts.open_sources(spec))
    os.unshare(os.CLONE_NEWUSER)
    wire.send_packet(owner, {"map": True})
    wire.receive_packet(owner)
    sources = []
    if not spec["privileged"]:
        os.unshare(os.CLONE_NEWNS)
        sources = mounts.open_sources(spec)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.umask(0o022)
    if not spec["privileged"]:
        mounts.stage(spec, sources)
    mounts.prepare_upper()
    outer, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = _fork_init(owner, outer, inner, spec)
    inner.close()
    wire.send_packet(owner, {"init": child})
    owner.close()
    _attend(child, outer, spec)


def _fork_init(
    owner: socket.socket, outer: socket.socket, inner: socket.socket, spec: wire.Message
) -> int:
    """Fork process 1 of a new pid namespace and return its number out here.

    A process in between unshares and leaves, and process 1 becomes ours: what we start later (the
    network) must not be born into the sandbox's pid namespace, where it could be killed.
    """
    kernel_calls.prctl(kernel_calls.PR_SET_CHILD_SUBREAPER, 1)
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        os.unshare(os.CLONE_NEWPID)
        child = os.fork()
        if child:
            os.write(write, str(child).encode())
            os._exit(0)
        outer.close()
        os.close(read)
        os.close(write)
        try:
            init.run(owner, inner, spec)
        except BaseException as error:
            _report(owner, error)
        os._exit(1)
    os.close(write)
    text = os.read(read, 32)
    os.close(read)
    os.waitpid(between, 0)
    if not text:
        raise RuntimeError("no pid namespace can be made here")
    return int(text)


def _attend(child: int, inner: socket.socket, spec: wire.Message) -> None:
    """Serve process 1 from outside: start its network and its supervisor. Ends when it ends."""
    helpers: list[int] = []
    exit_read, exit_write = os.pipe()
    limit = spec["disk_limit"]
    watch = disk_limit.Watch(mounts.STATE, limit, child) if limit else None
    try:
        while True:
            if watch and not select.select([inner.fileno()], [], [], watch.tick())[0]:
                continue
            request, fds = wire.receive_packet(inner)
            if request.get("network") == "user":
                helpers += _start_network(fds[0], fds[1], exit_read, spec)
            elif "supervise" in request:
                helpers.append(_fork(supervisor.serve, *fds))
            for fd in fds:
                os.close(fd)
    except EOFError:
        os.waitpid(child, 0)
        os.close(exit_write)
        for helper in helpers:
            os.waitpid(helper, 0)
    os._exit(0)


def _fork(serve: Callable[..., None], *fds: int) -> int:
    """Fork a server that holds these descriptors and no other: slirp4netns leaves when the last
    copy of a pipe of ours is closed."""
    child = os.fork()
    if child == 0:
        try:
            for name in os.listdir("/proc/self/fd"):
                if int(name) > 2 and int(name) not in fds:
                    _close(int(name))
            serve(*fds)
        finally:
            os._exit(0)
    return child


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:  # the descriptor that listed the others
        return


def _start_network(netns: int, ready: int, exit_fd: int, spec: wire.Message) -> list[int]:
    """Start slirp4netns and the guard of the addresses that it talks to."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    slirp = os.fork()
    if slirp == 0:
        _become_slirp(netns, ready, exit_fd, spec, theirs)
    theirs.close()
    try:
        _, fds = wire.receive_packet(ours)
    except EOFError:
        return [slirp]
    finally:
        ours.close()
    guarding = _fork(egress_filter.serve, *fds)
    for fd in fds:
        os.close(fd)
    return [slirp, guarding]


def _become_slirp(
    netns: int, ready: int, exit_fd: int, spec: wire.Message, carrier: socket.socket
) -> None:
    """slirp4netns runs as the sandbox's own root: its host uid owns nothing on the host."""
    try:
        for fd in (netns, ready, exit_fd):
            os.set_inheritable(fd, True)
        command = [*spec["slirp"], f"--ready-fd={ready}", f"--exit-fd={exit_fd}"]
        command += ["--netns-type=path", f"/proc/self/fd/{netns}", "tap0"]
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        listener = egress_filter.install(carrier.fileno())
        wire.send_packet(carrier, {"listener": True}, (listener,))
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{spec['slirp'][0]}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(127)

"""One exec: a warden (a subreaper, so that it keeps sight of everything the command starts) and
the command itself. The warden leaves when the command ends well; what survives it then belongs to
process 1, as with a daemon started on purpose. At a timeout the warden kills the whole tree."""

# pathlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH110, PTH208

from __future__ import annotations

import _socket as socket
import os
import select
import signal
import stat
import time

from benchflow.sandbox.inside import kernel_calls, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What started us may ignore some of them (nohup, `&` in a script), and a shell never takes back
# what it was born to ignore.
_BACK_TO_DEFAULT = (
    signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ,
    signal.SIGCHLD,
)  # fmt: skip
_TABLE_LIMIT = 4 * 1024 * 1024
_PROC = [-1]


def hold_proc(place: int) -> None:
    """Look for processes in this /proc (O_PATH): programs inside can put another over theirs."""
    _PROC[0] = place


def warden(fds: list[int], spec: wire.Message, tell: int) -> None:
    """fds: control, stdin, stdout, stderr; on `tell` process 1 learns which the command is. Does
    not return."""
    control = socket.socket(fileno=fds[0])
    kernel_calls.prctl(kernel_calls.PR_SET_CHILD_SUBREAPER, 1)
    request = wire.receive_stream(control)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        main = os.fork()
    except OSError as error:  # the limit on processes is reached
        os.write(fds[3], f"benchflow: cannot start: {error.strerror}\n".encode())
        wire.send_stream(control, {"status": 126})
        os._exit(0)
    if main == 0:
        signal.set_wakeup_fd(-1)
        _become(request, fds[1:], spec)
    os.write(tell, f"{os.getpid()} {main}\n".encode())
    for fd in fds[1:]:
        os.close(fd)
    poller = select.poll()
    poller.register(control.fileno(), select.POLLIN)
    poller.register(read, select.POLLIN)
    while True:
        status = _reap(main)
        if status is not None:
            wire.send_stream(control, {"status": status})
            os._exit(0)
        for fd, _events in poller.poll():
            if fd == read:
                os.read(read, 4096)
            else:
                kill_tree(lambda: descendants(os.getpid()))
                wire.send_stream(control, {"status": 128 + signal.SIGKILL})
                os._exit(0)


def _reap(main: int) -> int | None:
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return None
            if pid == main:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    except ChildProcessError:
        return 128 + signal.SIGKILL


def kill_tree(find: Callable[[], set[int]], *, reap: bool = True) -> None:
    """Kill all that `find` finds, and reap what is ours.

    They are stopped first, all of them, until no new one appears: a stopped process cannot fork,
    so a fork bomb cannot outrun this.
    """
    stopped: set[int] = set()
    while True:
        found = find() - stopped
        if not found:
            break
        for pid in found:
            _signal(pid, signal.SIGSTOP)
        stopped |= found
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        # Only those: whoever waits for one of them may start its next command while the others die.
        left = find() & stopped
        if not left:
            return
        for pid in left:
            _signal(pid, signal.SIGKILL)
        try:
            while reap and os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def kill_unguarded(wardens: set[int]) -> None:
    """Kill everything inside but process 1 and what these wardens guard. Called by process 1."""

    def find() -> set[int]:
        guarded = set(wardens)
        for pid in wardens:
            guarded |= descendants(pid)
        return descendants(os.getpid()) - guarded

    kill_tree(find)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def descendants(root: int) -> set[int]:
    """Living descendants of `root`; those that only wait to be reaped count, too."""
    children: dict[int, list[int]] = {}
    flags = os.O_RDONLY | os.O_CLOEXEC
    # Opened anew: a copy of the held one would share its position with every other process of ours.
    held = _PROC[0]
    proc = os.open("/proc", flags) if held < 0 else os.open(".", flags, dir_fd=held)
    try:
        for name in os.listdir(proc):
            if name.isdigit() and (parent := _parent(name, proc)):
                children.setdefault(parent, []).append(int(name))
    finally:
        os.close(proc)
    found: set[int] = set()
    queue = [root]
    while queue:
        for child in children.get(queue.pop(), ()):
            found.add(child)
            queue.append(child)
    return found


def _parent(name: str, proc: int) -> int:
    """The parent of a process; 0 when it is gone."""
    try:
        file = os.open(f"{name}/stat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except FileNotFoundError:
        return 0
    try:
        return int(os.read(file, 4096).rpartition(b")")[2].split()[1])
    except ProcessLookupError:
        return 0
    finally:
        os.close(file)


def _become(request: wire.Message, streams: list[int], spec: wire.Message) -> None:
    """Turn this process into the command. Errors are said on its own stderr, as a shell does."""
    try:
        for target, fd in enumerate(streams):
            os.dup2(fd, target)
        os.setsid()
        for number in _BACK_TO_DEFAULT:
            signal.signal(number, signal.SIG_DFL)
        uid, gid, groups, user_home = _user(request["user"])
        environment = {"HOME": user_home, **request["env"]}
        kernel_calls.drop_capabilities(spec["drop_capabilities"])
        if spec["seccomp"]:
            kernel_calls.seccomp(bytes.fromhex(spec["seccomp"]))
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        os.chdir(request["cwd"])
        argv = request["argv"]
        if isinstance(argv, str):
            shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
            argv = [shell, "-c", argv]
        os.execvpe(argv[0], argv, environment)
    except FileNotFoundError as error:
        _die(127, error)
    except (OSError, ValueError) as error:
        _die(126, error)


def _die(status: int, error: Exception) -> None:
    os.write(2, f"benchflow: {error}\n".encode())
    os._exit(status)


def _user(user: str) -> tuple[int, int, list[int], str]:
    """uid, gid, supplementary groups and home of `user` (a name or number, `user:group`), from
    the sandbox's own tables."""
    name, _, group = user.partition(":")
    uid, gid, home = 0, 0, "/root"
    known = False
    for fields in _table("/etc/passwd", 7):
        if fields[0] == name or (name.isdigit() and fields[2] == name):
            uid, gid, home, name = int(fields[2]), int(fields[3]), fields[5], fields[0]
            known = True
            break
    if not known and name not in ("root", ""):
        if not name.isdigit():
            raise ValueError(f"no user {name!r} in /etc/passwd")
        uid, gid, home = int(name), 0, "/"
    groups = [gid]
    for fields in _table("/etc/group", 4):
        if group and (fields[0] == group or fields[2] == group):
            gid = int(fields[2])
        if known and name in fields[3].split(","):
            groups.append(int(fields[2]))
    if group.isdigit():
        gid = int(group)
    return uid, gid, sorted({gid, *groups}), home or "/"


def _table(path: str, width: int) -> list[list[str]]:
    """Read a table that hostile programs may have replaced by anything."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        text = os.read(fd, _TABLE_LIMIT).decode("utf-8", "replace")
    finally:
        os.close(fd)
    rows = (line.split(":") for line in text.splitlines())
    return [row for row in rows if len(row) == width and row[2].isdigit()]

"""Enter a new user and mount namespace and be a program there, or a module of ours, as its root."""

# pathlib would cost some milliseconds
# ruff: noqa: PTH102

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import warnings  # os.execvp imports it, when the interpreter's files may be out of reach

from benchflow.sandbox.inside import kernel_calls
from benchflow.sandbox.inside.wire import Message

_ = warnings
STAGE = "/mnt"  # exists everywhere; a private tmpfs is laid over it


def main() -> None:
    """argv: a socket to the owner, and JSON: `argv`, `cwd`, `privileged`, `shown` (name below
    /mnt -> host directory; the ids inside may not walk the caller's directories), `module`
    (beside this one; its `main` gets `argv`, in place of a program)."""
    owner = socket.socket(fileno=int(sys.argv[1]))
    request: Message = json.loads(sys.argv[2])
    module = request["module"]  # loaded now, while the interpreter's files are in reach
    ours = importlib.import_module(f"{__package__}.{module}") if module else None
    if request["privileged"]:
        os.unshare(os.CLONE_NEWNS)
        _show(_open(request["shown"]))
    os.unshare(os.CLONE_NEWUSER)
    owner.sendall(b"u")
    if owner.recv(1) != b"m":
        os._exit(125)
    owner.close()
    os.unshare(os.CLONE_NEWNS)
    # Opened as the caller, who may walk there; shown as root inside, who may make directories.
    sources = {} if request["privileged"] else _open(request["shown"])
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    _show(sources)
    os.umask(0o022)
    os.chdir(request["cwd"])
    kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if ours is None:
        os.execvp(request["argv"][0], request["argv"])
    ours.main(*request["argv"])


def _open(shown: dict[str, str]) -> dict[str, int]:
    return {name: os.open(path, os.O_PATH | os.O_CLOEXEC) for name, path in shown.items()}


def _show(sources: dict[str, int]) -> None:
    kernel_calls.mount("none", "/", "", kernel_calls.MS_REC | kernel_calls.MS_PRIVATE)
    if not sources:
        return
    kernel_calls.mount("tmpfs", STAGE, "tmpfs", kernel_calls.MS_NOSUID, "mode=0755")
    for name, source in sources.items():
        os.mkdir(f"{STAGE}/{name}")
        kernel_calls.mount(f"/proc/self/fd/{source}", f"{STAGE}/{name}", "", kernel_calls.MS_BIND)
        os.close(source)

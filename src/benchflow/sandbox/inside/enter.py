"""Enter a new user and mount namespace and exec a program there as its root."""

from __future__ import annotations

import os
import signal
import socket
import sys
import warnings  # os.execvp imports it, when the interpreter's files may be out of reach

from benchflow.sandbox.inside import kernel

_ = warnings


def main() -> None:
    """argv: a socket to the owner, the working directory, the program and its arguments."""
    owner = socket.socket(fileno=int(sys.argv[1]))
    where = os.open(sys.argv[2], os.O_PATH | os.O_CLOEXEC)
    os.unshare(os.CLONE_NEWUSER)
    owner.sendall(b"u")
    if owner.recv(1) != b"m":
        os._exit(125)
    owner.close()
    os.unshare(os.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    os.fchdir(where)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execvp(sys.argv[3], sys.argv[3:])

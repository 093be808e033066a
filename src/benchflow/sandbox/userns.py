"""Run a program as the root of our user namespace, without a sandbox: to build images, and to
delete files that belong to mapped ids."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchflow.errors import InfrastructureError
from benchflow.sandbox.idmap import IdMap

_SOURCE = Path(__file__).resolve().parents[2]
_HELPER = (
    f"import sys; sys.path.insert(0, {str(_SOURCE)!r}); "
    "from benchflow.sandbox.inside import enter; enter.main()"
)


def popen(
    argv: Sequence[str],
    id_map: IdMap,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str = "/",
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start `argv` as root of a user namespace with this map, in its own mount namespace and in
    the host's network. It dies with this thread's process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HELPER, str(theirs.fileno()), cwd, *argv],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=dict(os.environ if env is None else env),
        )
        theirs.close()
        try:
            if ours.recv(1) != b"u":
                raise InfrastructureError(
                    "no user namespace can be made here", hint="run `benchflow doctor`"
                )
            id_map.write(child.pid)
            ours.sendall(b"m")
        except BaseException:
            child.kill()
            child.wait()
            raise
    return child


def run(
    argv: Sequence[str],
    id_map: IdMap,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str = "/",
    on_output: Callable[[bytes], None] | None = None,
) -> tuple[int, bytes]:
    """Run `argv` to its end; exit status (128 + n for a signal) and output."""
    child = popen(argv, id_map, env=env, cwd=cwd)
    output = []
    with child:
        assert child.stdout is not None
        try:
            while chunk := os.read(child.stdout.fileno(), 1 << 16):
                output.append(chunk)
                if on_output is not None:
                    on_output(chunk)
        except BaseException:
            child.kill()
            raise
    code = child.returncode
    return (code if code >= 0 else 128 - code), b"".join(output)

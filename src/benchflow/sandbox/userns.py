"""Run a program as the root of our user namespace, without a sandbox: to build images, and to
delete files that belong to mapped ids."""

from __future__ import annotations

import json
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
    "from benchflow.sandbox.inside import nsenter; nsenter.main()"
)


def run(
    argv: Sequence[str],
    id_map: IdMap,
    *,
    module: str = "",
    shown: Mapping[str, Path] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str = "/",
    on_output: Callable[[bytes], None] | None = None,
) -> tuple[int, bytes]:
    """Run `argv` as root of a user namespace with this map, in its own mount namespace and in
    the host's network; exit status (128 + n for a signal) and output, stderr with it.

    The directories in `shown` appear as /mnt/<name>: the mapped ids need not be able to walk to
    them. With `module` no program is run, but `main(*argv)` of this module of `inside`, for which
    the interpreter's files need not be in reach. It dies when this thread's process does.
    """
    request = {
        "argv": list(argv),
        "module": module,
        "cwd": cwd,
        "privileged": id_map.privileged,
        "shown": {name: str(path) for name, path in (shown or {}).items()},
    }
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HELPER, str(theirs.fileno()), json.dumps(request)],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ if env is None else env),
        )
        theirs.close()
        with child:
            try:
                if ours.recv(1) == b"u":
                    id_map.write(child.pid)
                    ours.sendall(b"m")
                return _pump(child, on_output)
            except BaseException:
                child.kill()
                raise


def _pump(
    child: subprocess.Popen[bytes], on_output: Callable[[bytes], None] | None
) -> tuple[int, bytes]:
    output = []
    assert child.stdout is not None
    while chunk := os.read(child.stdout.fileno(), 1 << 16):
        output.append(chunk)
        if on_output is not None:
            on_output(chunk)
    code = child.wait()
    return (code if code >= 0 else 128 - code), b"".join(output)


def check(
    argv: Sequence[str],
    id_map: IdMap,
    *,
    what: str,
    module: str = "",
    shown: Mapping[str, Path] | None = None,
    env: Mapping[str, str] | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> bytes:
    """`run`, and raise InfrastructureError with the last lines when it fails."""
    status, output = run(argv, id_map, module=module, shown=shown, env=env, on_output=on_output)
    if status:
        tail = output.decode("utf-8", "replace").strip()[-1500:]
        raise InfrastructureError(f"{what} failed with status {status}:\n{tail}")
    return output

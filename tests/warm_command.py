"""`benchflow` as a process of its own, without its seconds of imports.

A process that has imported the command once does nothing else but fork for each call: what runs
is the real entry point, with its own arguments, environment, folder and streams. Tests that send
signals to the command, or are about its start, start it themselves.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")
_AT_IMPORT = ("HOME", "XDG_", "PYTHON", "HARBOR_", "LITELLM_")
#: What is imported before the first call.
PACKAGES = ["benchflow.cli", "benchflow.run", "benchflow.authoring", "benchflow.agents"]
_HARBOR = (
    "harbor.job",
    "harbor.trial.trial",
    "harbor.agents.factory",
    "harbor.environments.factory",
)


def run(
    arguments: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run([BENCHFLOW, *arguments], capture_output=True, text=True, …)`."""
    given = dict(os.environ if env is None else env)
    if _read_by_imports(given) != _read_by_imports(os.environ):
        return subprocess.run(
            [BENCHFLOW, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env=env
        )
    request = {"arguments": list(arguments), "cwd": str(cwd or Path.cwd()), "env": given}
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        Path(os.devnull).open() as nothing,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line,
    ):
        line.connect(_server())
        streams = [nothing.fileno(), output.fileno(), errors.fileno()]
        socket.send_fds(line, [json.dumps(request).encode()], streams)
        status = line.recv(100)
        assert status, "who forks the command has ended"
        said = [_text(output), _text(errors)]
    return subprocess.CompletedProcess([BENCHFLOW, *arguments], int(status), *said)


def _read_by_imports(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that libraries may read once, as they are imported."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_AT_IMPORT) and name != "PYTHONPATH"
    }


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


@cache
def _server() -> str:
    """The address of this process' own server, which ends with this process."""
    address = f"\0benchflow-tests-{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with listener:
        listener.bind(address)
        listener.listen()
        _started.append(
            subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno()), *PACKAGES],
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                cwd="/",
            )
        )
    return address


_started: list[subprocess.Popen[bytes]] = []


def stop() -> None:
    """End the server; the next call starts another."""
    _server.cache_clear()
    while _started:
        process = _started.pop()
        process.communicate()


def _serve(listener: socket.socket) -> None:
    """Fork for each call until whoever started us has ended."""
    _import_all()
    assert threading.active_count() == 1, threading.enumerate()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for a command
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        line, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            _answer(line)
            return
        line.close()


def _import_all() -> None:
    importlib.import_module("benchflow.run.job.harbor_job").keep_quiet()
    for name in sys.argv[2:]:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".template" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    if "benchflow.agents" in sys.argv:
        for name in _HARBOR:
            importlib.import_module(name)


def _answer(line: socket.socket) -> None:
    message, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
    pid = os.fork()
    if pid == 0:
        line.close()
        _command(json.loads(message), streams)
    _, status = os.waitpid(pid, 0)
    line.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _command(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """What the installed script does, in a process that looks as if it had just been started."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode) for n, mode in enumerate("rww"))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    added = os.environ.get("PYTHONPATH")
    sys.path[:1] = [str(Path(BENCHFLOW).parent), *(added.split(os.pathsep) if added else ())]
    sys.argv = [BENCHFLOW, *request["arguments"]]
    from benchflow.cli import main

    main()
    raise AssertionError("the command raises SystemExit")


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

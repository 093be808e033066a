"""A Ray cluster of several nodes on this machine: each a `ray start` of its own, with a home of its
own where that is asked for, in a network of its own where the network is to be cut.

Everything that a node started bears its mark in the environment, so that it can be killed whole.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

RAY = str(Path(sys.executable).parent / "ray")
_MARK = "BENCHFLOW_TEST_NODE"
#: A busy machine of two cores starts Python slowly; Ray gives up after 15 s.
_PATIENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "60",
    "RAY_agent_register_timeout_ms": "280000",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # A node that does not answer is dead after 5 × 4 s, not after a minute.
    "RAY_health_check_timeout_ms": "4000",
    "RAY_health_check_period_ms": "2000",
}
#: A raylet waits 15 s for its own helpers and no longer, whatever it is told.
_STARTS = 6


@dataclass
class Node:
    """One node. `mark`: what stands in the environment of all that it started."""

    name: str
    mark: str
    process: subprocess.Popen[bytes]

    def pids(self) -> list[int]:
        """All that the node has started, Ray's processes and ours."""
        mark = f"{_MARK}={self.mark}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes() + b"\0":
                    found.append(int(path.parent.name))
        return found

    def workers(self, what: str = "ray_engine.runner") -> list[int]:
        """Processes of the node whose command line has `what` in it."""
        found = []
        for pid in self.pids():
            with contextlib.suppress(OSError):
                if what.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def kill(self) -> None:
        """kill -9 of all of it."""
        while pids := [pid for pid in self.pids() if not _is_dead(pid)]:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        self.process.kill()
        self.process.wait()


def _is_dead(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


@dataclass
class Cluster:
    """A head and further nodes, in `folder`."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    nodes: list[Node] = field(default_factory=list)
    temporary: Path | None = None
    started: int = 0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def head(self, *, cpus: int = 0, env: dict[str, str] | None = None) -> Node:
        """Start the head, which takes no trials unless it has processors."""
        self.port = self.port or _free_port()
        return self._start(
            ["--head", f"--port={self.port}", "--include-dashboard=false"], cpus, None, env or {}
        )

    def node(
        self,
        *,
        cpus: int = 1,
        home: Path | None = None,
        env: dict[str, str] | None = None,
        inside: tuple[str, ...] = (),
        host: str = "",
    ) -> Node:
        """Start one node more."""
        return self._start([f"--address={self.address}"], cpus, home, env or {}, inside, host)

    def _start(self, more: list[str], *about: Any) -> Node:
        for _ in range(_STARTS):
            node = self._try_to_start(more, *about)
            if node is not None:
                self.nodes.append(node)
                return node
        said = (self.folder / f"{self.folder.name}-{self.started}.log").read_text()
        raise AssertionError(f"no node started: {said[-2000:]}")

    def _try_to_start(
        self,
        more: list[str],
        cpus: int,
        home: Path | None,
        env: dict[str, str],
        inside: tuple[str, ...] = (),
        host: str = "",
    ) -> Node | None:
        self.started += 1
        name = f"{self.folder.name}-{self.started}"
        mark = uuid4().hex
        ports = [f"--{what}={_free_port()}" for what in _PORTS]
        if "--head" in more:
            # Names of sockets are short; those of tests' folders are not.
            self.temporary = Path(tempfile.mkdtemp(prefix="bfray-"))
            more = [*more, f"--temp-dir={self.temporary}"]
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *inside, RAY, "start", *more, f"--num-cpus={cpus}", "--block",
                    f"--node-ip-address={host or self.host}", "--object-store-memory=80000000",
                    "--memory=4000000000", "--disable-usage-stats", *ports,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
                    **_PATIENT,
                    **({"BENCHFLOW_HOME": str(home)} if home else {}),
                    **env,
                    _MARK: mark,
                },
                start_new_session=True,
            )  # fmt: skip
        node = Node(name, mark, process)
        log_file = self.folder / f"{name}.log"
        while b"Ray runtime started" not in log_file.read_bytes():
            if process.poll() is not None:
                node.kill()
                return None
            time.sleep(0.2)
        return node

    def stop(self) -> None:
        """End all of it."""
        for node in reversed(self.nodes):
            node.kill()
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


_PORTS = (
    "metrics-export-port",
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "runtime-env-agent-port",
)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def cluster(folder: Path, host: str = "") -> Iterator[Cluster]:
    """A cluster that ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Cluster(folder, host or own_address())
    try:
        yield made
    finally:
        made.stop()


def own_address() -> str:
    """Ray insists on an address of the machine that is not loopback, where there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.255", 9))
            return str(asked.getsockname()[0])
        except OSError:
            return "127.0.0.1"

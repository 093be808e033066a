"""The rig that checks work on: environments made on demand, and a host with bait on it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths
from harbor.utils.import_path import import_class

from benchflow.testing.sandbox_conformance.outcome import NotApplicable, expect

DOCKERFILE = "FROM debian:bookworm\nENV CONFORMANCE_IMAGE=yes\nWORKDIR /work\n"
LOGS = "/logs/agent"
INSIDE = "/srv/c"  # where the checks put their files in an environment


class Rig:
    """What a check gets. `env()` is shared by the checks; `fresh()` is the check's own."""

    def __init__(
        self, import_path: str, kwargs: dict[str, Any] | None = None, patience: float = 1.0
    ) -> None:
        self.import_path = import_path
        #: By how much longer everything may take, for an environment on a slow machine.
        self.patience = patience
        self.kind: type[BaseEnvironment] = import_class(import_path, label="environment")
        self.work = Path(tempfile.mkdtemp(prefix="benchflow-conformance-", dir="/var/tmp"))
        self.work.chmod(0o755)
        self.token = secrets.token_hex(8)
        self._kwargs = kwargs or {}
        self._shared: dict[str, BaseEnvironment] = {}
        self._count = 0
        # Bait: what a sandbox must not see. Made before any environment exists.
        self.secret = f"host-secret-{self.token}"
        (self.work / "bait").mkdir()
        (self.work / "scratch").mkdir()
        self.secret_file = self.work / "bait/host-secret"
        self.secret_file.write_text(self.secret)
        self.secret_file.chmod(0o644)
        os.environ["BENCHFLOW_CONFORMANCE_SECRET"] = self.secret
        self.leaked_fd = os.open(self.secret_file, os.O_RDONLY)
        os.set_inheritable(self.leaked_fd, True)

    def scratch(self, name: str) -> Path:
        """A new, empty directory on the host."""
        self._count += 1
        path = self.work / "scratch" / f"{self._count}-{name}"
        path.mkdir(parents=True)
        return path

    def make(self, network: str = "no-network", **settings: Any) -> BaseEnvironment:
        """A new environment over `DOCKERFILE`, with Harbor's agent log directory mounted."""
        folder = self.scratch("trial")
        context = folder / "environment"
        context.mkdir()
        (context / "Dockerfile").write_text(DOCKERFILE)
        paths = TrialPaths(trial_dir=folder / "trial")
        paths.mkdir()  # type: ignore[no-untyped-call]
        paths.chmod_dir()  # type: ignore[no-untyped-call]
        kwargs = dict(self._kwargs)
        accepted = inspect.signature(self.kind.__init__).parameters
        kwargs |= {name: settings.pop(name) for name in list(settings) if name in accepted}
        return self.kind(
            environment_dir=context,
            environment_name="conformance",
            session_id=f"conformance-{self.token}-{self._count}",
            trial_paths=paths,
            task_env_config=EnvironmentConfig(**settings),
            logger=logging.getLogger("benchflow.conformance"),
            mounts=[
                {"type": "bind", "source": str(paths.agent_dir.resolve()), "target": LOGS},
            ],
            network_policy=NetworkPolicy(network_mode=NetworkMode(network)),
            **kwargs,
        )

    def default_network(self) -> str:
        """No network where the environment can do without; else what it has."""
        try:
            self.make("no-network")
        except ValueError:
            return "public"
        return "no-network"

    async def env(self, network: str | None = None) -> BaseEnvironment:
        """A running environment that checks share."""
        network = network or self.default_network()
        if network not in self._shared:
            environment = self.make(network)
            await environment.start(force_build=False)
            await environment.exec(f"mkdir -p {INSIDE} && chmod 1777 {INSIDE}", user="root")
            self._shared[network] = environment
        return self._shared[network]

    @contextlib.asynccontextmanager
    async def fresh(
        self, network: str | None = None, **settings: Any
    ) -> AsyncIterator[BaseEnvironment]:
        """A running environment for one check; stopped and deleted afterwards."""
        environment = self.make(network or self.default_network(), **settings)
        await environment.start(force_build=False)
        try:
            yield environment
        finally:
            await environment.stop(delete=True)

    async def run(self, command: str, **options: Any) -> ExecResult:
        """`exec` in the shared environment."""
        return await (await self.env()).exec(command, **options)

    async def out(self, command: str, **options: Any) -> str:
        """Standard output of a command that has to succeed in the shared environment."""
        result = await self.run(command, **options)
        expect(
            result.return_code == 0,
            f"{command!r} ended with {result.return_code}: {text(result)[-300:]}",
        )
        return result.stdout or ""

    async def run_out(self, command: str, seconds: int) -> ExecResult | None:
        """Run into a timeout. Harbor leaves open whether that is an exception (None) or a result;
        what is wrong is only a success."""
        try:
            return await self.run(command, timeout_sec=seconds)
        except (RuntimeError, TimeoutError):
            return None

    async def has_own_kernel(self) -> bool:
        """Whether the environment runs under another kernel than the host's."""
        boot_id = "/proc/sys/kernel/random/boot_id"
        inside = (await self.run(f"cat {boot_id}")).stdout or ""
        return inside.strip() != Path(boot_id).read_text().strip()

    async def on_this_machine(self) -> None:
        """Host-side checks say nothing about an environment with another kernel."""
        if await self.has_own_kernel():
            raise NotApplicable("the environment runs under another kernel")

    async def on_no_own_kernel(self) -> None:
        """What root does to a kernel of its environment's own is no matter of the host's."""
        if await self.has_own_kernel():
            raise NotApplicable("the kernel that root inside has power over is not the host's")

    async def processes(self, marker: str) -> list[int]:
        """Processes whose command line holds `marker`: the host's, or the own kernel's."""
        if not await self.has_own_kernel():
            return host_processes(marker)
        half = len(marker) // 2
        # No command line here holds the marker whole.
        shown = await self.out(
            "for f in /proc/[0-9]*/cmdline; do c=$(tr '\\0' ' ' <$f 2>/dev/null); "
            "case $c in *$A$B*) f=${f#/proc/}; echo ${f%/cmdline} ;; esac; done; true",
            env={"A": marker[:half], "B": marker[half:]},
        )
        return [int(line) for line in shown.split()]

    async def is_gone(self, marker: str, seconds: float = 5.0) -> bool:
        """Whether none of `processes` is left after at most `seconds`."""
        deadline = time.monotonic() + seconds * self.patience
        while await self.processes(marker):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.05)
        return True

    async def close(self) -> None:
        """Stop what is shared and remove the bait."""
        for environment in self._shared.values():
            await environment.exec(f"rm -rf {INSIDE}", user="root")
            await environment.stop(delete=True)
        self._shared.clear()
        os.close(self.leaked_fd)
        del os.environ["BENCHFLOW_CONFORMANCE_SECRET"]
        await asyncio.to_thread(shutil.rmtree, self.work)


def text(result: ExecResult) -> str:
    """Both streams, for environments that merge them and those that do not."""
    return (result.stdout or "") + (result.stderr or "")


def log_dir(environment: BaseEnvironment) -> Path:
    """The host's side of `LOGS`."""
    path: Path = environment.trial_paths.agent_dir
    return path


def host_processes(marker: str) -> list[int]:
    """Processes on the host whose command line or environment holds `marker`."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


async def gone(marker: str, seconds: float = 5.0) -> bool:
    """Whether no process with `marker` is left on the host after at most `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not host_processes(marker):
            return True
        await asyncio.sleep(0.05)
    return False


@contextlib.contextmanager
def listener(address: str | tuple[str, int]) -> Iterator[socket.socket]:
    """A real service on the host: greets everyone who connects."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()
        yield server


def accepted(server: socket.socket) -> bool:
    """Whether somebody connected."""
    server.settimeout(0.2)
    try:
        connection, _ = server.accept()
    except TimeoutError:
        return False
    connection.close()
    return True


def bystander() -> subprocess.Popen[bytes]:
    """A process of the host that does nothing; a check looks whether it is left alone."""
    return subprocess.Popen(["sleep", "300"])

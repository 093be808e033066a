"""`Sandbox`: one namespace sandbox, from start to clean-up."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchflow.base import process_identity
from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox import (
    cleanup,
    execution,
    idmap,
    mount_ownership,
    paths,
    start,
    transfer,
)
from benchflow.sandbox.execution import OnOutput
from benchflow.sandbox.inside import wire
from benchflow.sandbox.model import ExecResult, Image, Limits, Mount, Network, Usage

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Giving an overlay back writes out what its disk still holds in memory: 20 s and more have been
# seen on two cores with fourteen guests. A trial is not lost over that.
_STOP_TIMEOUT = 180.0
_IMAGE_SHARE = 1 << 30
_DEATH_TIMEOUT = 5.0
#: A group is full at its limit, of which the kernel keeps a little back; a kill below it was for
#: the host's own memory.
_FULL = 0.95


class Sandbox:
    """A running sandbox. Make one with `Sandbox.start`; end it with `stop`, or use it as a
    context manager. Its methods block, and may be called from several threads."""

    def __init__(
        self, name: str, image: Image, state: Path, id_map: idmap.IdMap, running: start.Running
    ) -> None:
        self.name = name
        self.image = image
        self.state = state
        self.id_map = id_map
        self.env: dict[str, str] = {}
        self.workdir = "/"
        self.user = "root"
        self._plan: start.Plan | None = None
        self._mounts: tuple[Mount, ...] = ()
        self._running = running
        self._init_start = process_identity.start_time(running.init_pid)
        self._lock = threading.Lock()
        self._stopped = False
        self._is_kept = False

    @classmethod
    def start(
        cls,
        image: Image,
        *,
        name: str | None = None,
        state_dir: Path | None = None,
        network: Network = "none",
        mounts: Sequence[Mount] = (),
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str | None = None,
        user: str | None = None,
        hostname: str = "sandbox",
        keep_while: Sequence[Path] = (),
        again: bool = False,
        devices: Sequence[str] = (),
    ) -> Self:
        """Start a sandbox over `image`; it lives no longer than this process.

        `network`: "none" is loopback alone; "user" reaches outside, never the host's loopback.
        `env` adds to the image's; `workdir` (made when missing) and `user` replace the image's.
        `state_dir` holds what the sandbox writes (default: under `$BENCHFLOW_HOME`, where `gc`
        finds it). When this process dies, `gc` keeps what the sandbox wrote while all paths in
        `keep_while` exist; `again` starts over what a sandbox of this `name` left so, with every
        program in it gone and its memory file systems empty. `devices`: what of the host's /dev is
        shown beside what every sandbox has. Raises InfrastructureError, and with
        `again` UsageError when nothing was left, or `image` is another.
        """
        name = name or f"box-{uuid.uuid4().hex[:12]}"
        if "/" in name or name.startswith("."):
            raise UsageError(f"{name!r} cannot name a sandbox", hint="use letters and digits")
        state = state_dir or paths.sandboxes() / name
        id_map = idmap.current()
        for mount in mounts:
            if not mount.host.exists():
                raise UsageError(f"cannot mount {mount.host}: it does not exist")
        if again:
            cleanup.take_over(state, image.digest, keep_while)
        else:
            cleanup.claim(state, keep_while)
        plan = start.Plan(
            name=name,
            image=image,
            state=state,
            id_map=id_map,
            network=network,
            mounts=tuple(mounts),
            limits=limits or Limits(),
            hostname=hostname,
            workdir=workdir or image.config.workdir or "/",
            devices=tuple(devices),
        )
        try:
            mount_ownership.lend(id_map, plan.mounts)
            running = start.run(plan)
        except BaseException:
            mount_ownership.give_back(id_map, plan.mounts)
            if not again:
                cleanup.delete(state, id_map)
            raise
        cleanup.record(state, image.digest, running.init_pid, running.groups, keep_while)
        box = cls(name, image, state, id_map, running)
        box._plan = plan
        box._is_kept = bool(keep_while)
        box._mounts = tuple(mounts)
        box.env = {"PATH": _PATH, **image.config.env, **(env or {})}
        box.workdir = plan.workdir
        box.user = user or image.config.user or "root"
        return box

    @property
    def init_pid(self) -> int:
        """The host's number of the sandbox's process 1."""
        return self._running.init_pid

    @property
    def alive(self) -> bool:
        """Whether commands can still be run."""
        return not self._stopped and self._running.helper.poll() is None

    def exec(
        self,
        command: str | Sequence[str],
        *,
        user: str | int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
        cancel: int | None = None,
    ) -> ExecResult:
        """Run a command and wait for it.

        A string goes to `bash -c` (`sh -c` where there is no bash). `user` is a name, a number or
        `user:group` of the sandbox's own tables. At the `timeout` (seconds) everything that the
        command started is killed, daemons too; after a command that ended by itself, what it left
        running stays. `on_output(stream, data)` sees output as it comes, in the calling thread;
        streams are "stdout" and "stderr", of which the result has the first and the last 32 MiB.
        When the descriptor `cancel` becomes readable, the command ends as at its timeout. 126:
        could not be executed; 127: not found. Raises InfrastructureError when the sandbox is gone.
        """
        request = {
            "argv": command if isinstance(command, str) else list(command),
            "user": str(self.user if user is None else user),
            "cwd": cwd or self.workdir,
            "env": {**self.env, **(env or {})},
        }
        return execution.run(
            self._running.channel,
            request,
            timeout=timeout,
            stdin=stdin,
            on_output=on_output,
            cancel=cancel,
        )

    def put(self, host_path: Path | str, inside_path: str) -> None:
        """Copy a file or a directory tree from the host into the sandbox, owned by its root."""
        transfer.put(self, Path(host_path), inside_path)

    def get(self, inside_path: str, host_path: Path | str, most: int | None = None) -> list[str]:
        """Copy a file or a directory tree out of the sandbox, owned by the caller.

        Set-uid bits are dropped; symlinks in a tree are copied as they are and never followed.
        Left out and returned are device nodes, fifos, sockets, and `inside_path` itself when it
        is a symlink. Raises FileNotFoundError when it does not exist, or when what is there (a
        symlink in a circle, much more than the sandbox may write, more than `most` bytes) is in
        nobody's reach. After
        `kill` a file that the sandbox wrote is hard-linked where that is possible and nobody may
        take the sandbox over: no process is left to change it. What was mounted is gone by then.
        """
        host = Path(host_path)
        disk_mb = self._plan.limits.disk_mb if self._plan else None
        # Mounts inside can show a file many times over; what the image holds may be fetched, too.
        own = None if disk_mb is None else disk_mb * 1024 * 1024 + _IMAGE_SHARE
        limit = min((each for each in (own, most) if each is not None), default=None)
        if not self._stopped:
            return transfer.get(self, inside_path, host, limit)
        # A link has one owner: who takes the sandbox over needs its files to be its own.
        may_link = self.id_map.privileged and not self._is_kept
        if may_link and transfer.link_out(self.state, inside_path, host):
            return []
        with self._reader() as reader:
            return transfer.get(reader, inside_path, host, limit)

    def _reader(self) -> Sandbox:
        """A sandbox over the files of this one, which is dead: it shows them as they were seen,
        and nothing in them can keep it from its start."""
        if self._plan is None or not self.state.is_dir():
            raise InfrastructureError(f"sandbox {self.name} and its files are gone")
        plan = dataclasses.replace(
            self._plan, mounts=(), network="none", limits=Limits(), only_files=True
        )
        return _Reader(self.name, self.image, self.state, self.id_map, start.run(plan))

    def ask(self, message: wire.Message, fds: tuple[int, ...] = ()) -> None:
        """Send a request to process 1."""
        wire.send_packet(self._running.channel, message, fds)

    @property
    def device_nodes(self) -> str:
        """How the making of device nodes is answered inside."""
        return self._running.device_nodes

    def limits_report(self) -> dict[str, str]:
        """For each limit asked for: `enforced: how` or `not enforced: why`."""
        return dict(self._running.groups.report)

    def usage(self) -> Usage:
        """What has been used so far; after `stop`, what was used in all."""
        return self._running.usage(self.state)

    def died_of_memory(self) -> bool:
        """Whether it has ended of itself, because what it held filled the memory that it may have:
        then the kernel kills one process after the other, process 1 too. Waits for a dying one."""
        try:
            self._running.helper.wait(_DEATH_TIMEOUT)
        except subprocess.TimeoutExpired:
            return False
        used, limit = self.usage(), self._plan and self._plan.limits.memory_mb
        if self._stopped or not limit or not used.memory_kills:
            return False
        return (used.memory_peak_mb or 0) >= _FULL * limit

    def kill(self) -> None:
        """Kill every process inside at once; the files stay until `stop`."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        self._running.usage(self.state)
        self._running.channel.close()
        # It may have died long ago, and its number be another's.
        begun = process_identity.start_time(self.init_pid)
        if begun is not None and begun == self._init_start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init_pid, signal.SIGKILL)
        try:
            self._running.helper.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise InfrastructureError(
                f"sandbox {self.name} does not die (a process of it hangs in the kernel)"
            ) from error
        self._running.groups.remove()

    def stop(self, delete: bool = True) -> None:
        """Kill everything, give lent mounts back, and delete the sandbox's files."""
        self.kill()
        mount_ownership.give_back(self.id_map, self._mounts)
        self._mounts = ()
        if delete:
            cleanup.delete(self.state, self.id_map)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class _Reader(Sandbox):
    """Looks at the files of a dead sandbox, and leaves them."""

    def stop(self, delete: bool = False) -> None:
        self.kill()

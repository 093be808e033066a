"""`Machine`: a guest of QEMU with the calls of `benchflow.sandbox.Sandbox`.

QEMU runs in a namespace sandbox of its own, the room: there are the limits, the network and the
clean-up after a dead owner. What a guest may do to its QEMU, it has then done in a sandbox.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox.execution import OnOutput
from benchflow.sandbox.model import ExecResult, Image, Limits, Mount, Network, Usage
from benchflow.sandbox.namespace import Sandbox
from benchflow.sandbox.transfer import Unreadable
from benchflow.sandbox.vm import (
    accelerator,
    base_disk,
    execution,
    files,
    frames,
    qemu,
    room_image,
    shown,
)
from benchflow.sandbox.vm.channel import Channel, Gone
from benchflow.sandbox.vm.engine import Engine

#: Real seconds for a machine to come up, under KVM and under TCG on a busy host; and for one that
#: has been up before to be up again.
_UP_SECONDS = {"kvm": 120.0, "tcg": 600.0}
_UP_AGAIN_SECONDS = 300.0
#: For systemd to have started all that it starts.
_SETTLE_SECONDS = 300.0
_SYNC_SECONDS = 60.0
_IMAGE_SHARE = 1 << 30
#: MiB that the overlay takes beside what its guest wrote.
_DISK_SLACK = 256
_KEY_FILE = "/vm/base"


class MachineLost(InfrastructureError):
    """The machine had come up, and does not any more: that is the doing of who worked in it."""


class Machine:
    """A running machine. Make one with `Machine.start`; end it with `stop`, or use it as a context
    manager. Its methods block, and may be called from several threads."""

    def __init__(self, room: Sandbox, image: Image, spec: qemu.Spec) -> None:
        self.name = room.name
        self.image = image
        self.state = room.state
        self.id_map = room.id_map
        self.env: dict[str, str] = {}
        self.workdir = "/"
        self.user = "root"
        self._room = room
        self._spec = spec
        self._lock = threading.RLock()
        self._engine: Engine | None = None
        self._reader: Engine | None = None
        self._stopped = False
        self._was_up = False
        self._port: int | None = None

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
        label: str = "",
    ) -> Self:
        """Boot a machine over `image`. See `Sandbox.start`; `mounts` are read-only here, and what
        `again` starts over is the disk alone. `label`: by what the host's list of processes tells
        its QEMU from others. Raises also TaskError, where the image cannot become
        a machine."""
        if writable := [mount.inside for mount in mounts if not mount.read_only]:
            raise UsageError(f"a machine shares no folder of the host's: {', '.join(writable)}")
        granted = limits or Limits()
        room = room_image.room()
        base = base_disk.base_disk(image, room, granted.disk_mb)
        spec = qemu.Spec(
            name=hostname,
            key=secrets.token_bytes(frames.KEY_BYTES),
            accelerator=accelerator.usable(room),
            limits=granted,
            network=network,
            hostname=hostname,
            shown=tuple(mount.inside for mount in mounts),
        )
        with shown.disks(mounts) as disks:
            box = Sandbox.start(
                room,
                name=name,
                state_dir=state_dir,
                network=network,
                mounts=[Mount(base, "/base")],
                limits=_of_room(granted, spec, [base / "disk.raw", *disks]),
                hostname="room",
                keep_while=keep_while,
                again=again,
                devices=("kvm",) if spec.accelerator == "kvm" else (),
            )
            machine = cls(box, image, replace(spec, name=label or box.name))
            machine.env = {"PATH": box.env["PATH"], **image.config.env, **(env or {})}
            machine.user = user or image.config.user or "root"
            machine.workdir = workdir or image.config.workdir or "/"
            try:
                machine._lay_disks(base.name, disks, again=again)
                machine._come_up()
            except BaseException:
                box.stop(delete=not again)
                raise
        return machine

    @property
    def init_pid(self) -> int:
        """The host's number of process 1 of the room: its network is what `forward` leads to."""
        return self._room.init_pid

    @property
    def alive(self) -> bool:
        """Whether commands can still be run."""
        return not self._stopped and self._room.alive

    @property
    def device_nodes(self) -> str:
        """How the making of device nodes is answered inside."""
        return f"the machine's own, under {self.accelerator}"

    @property
    def accelerator(self) -> str:
        """`kvm` or `tcg`."""
        return self._spec.accelerator

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
        """Run a command and wait for it. See `Sandbox.exec`.

        Where the machine is switched off, or restarts, meanwhile, the status is 137; the next
        command finds it up again, with its disk. Raises MachineLost where it does not come up.
        """
        request = frames.command(
            str(self.user if user is None else user),
            cwd or self.workdir,
            command if isinstance(command, str) else [*command],
            {**self.env, **(env or {})},
        )
        while True:
            channel = self._ready()
            try:
                return execution.run(
                    channel,
                    request,
                    timeout=timeout,
                    stdin=stdin,
                    on_output=on_output,
                    cancel=cancel,
                )
            except Gone:
                continue
            except execution.Stuck as stuck:
                self._switch_off(channel)
                result: ExecResult = stuck.args[0]
                return result

    def put(self, host_path: Path | str, inside_path: str) -> None:
        """Copy a file or a directory tree from the host into the machine, owned by its root."""
        files.put(self._ready(), Path(host_path), inside_path)

    def get(self, inside_path: str, host_path: Path | str, most: int | None = None) -> list[str]:
        """Copy a file or a directory tree out of the machine, owned by the caller. See
        `Sandbox.get`. After `kill` its disk is read by a machine that runs nothing of it."""
        disk_mb = self._spec.limits.disk_mb
        own = None if disk_mb is None else disk_mb * 1024 * 1024 + _IMAGE_SHARE
        limit = min((each for each in (own, most) if each is not None), default=None)
        channel = self._reading() if self._stopped else self._ready()
        return files.get(channel, inside_path, Path(host_path), limit)

    def forward(self, port: int) -> None:
        """Let programs in the machine reach, at their own loopback, what listens on `port` at the
        loopback of the room."""
        with self._lock:
            self._port = port
            if self._engine is not None:
                self._engine.forward(port)

    def limits_report(self) -> dict[str, str]:
        """For each limit asked for: `enforced: how` or `not enforced: why`."""
        granted, report = self._spec.limits, {}
        if granted.memory_mb is not None:
            report["memory"] = f"enforced: the machine has {granted.memory_mb} MiB"
        if granted.pids is not None:
            report["pids"] = "enforced: cgroup v2 pids.max in the machine, until its root lifts it"
        if granted.disk_mb is not None:
            report["disk"] = f"enforced: the disk had {granted.disk_mb} MiB free at its first start"
        if granted.cpus is not None:
            report["cpus"] = self._room.limits_report().get("cpus", "not enforced: unknown")
        return report

    def usage(self) -> Usage:
        """What QEMU and its guest have used so far."""
        return self._room.usage()

    def died_of_memory(self) -> bool:
        """Whether the room has ended because QEMU filled the memory that it may have."""
        return self._room.died_of_memory()

    def kill(self) -> None:
        """End every process inside at once; what was written is on the disk, which `get` reads
        until `stop`."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            engine, self._engine = self._engine, None
        if engine is not None:
            execution.sync(engine.channel, _SYNC_SECONDS)
            engine.kill()

    def stop(self, delete: bool = True) -> None:
        """End everything, and delete the machine's disk."""
        with self._lock:
            is_kept = not delete and not self._stopped
            if is_kept:
                self.kill()
            self._stopped = True
            for engine in filter(None, (self._engine, self._reader)):
                engine.kill()
            self._engine = self._reader = None
        self._room.stop(delete)

    def _lay_disks(self, base: str, disks: Sequence[Path], *, again: bool) -> None:
        """Make the overlay, unless one was left that is over this base."""
        if again:
            found = self._room.exec(["cat", _KEY_FILE])
            if found.status or found.text.strip() != base:
                raise UsageError(f"{self.name}: its image has changed since")
            return
        script = 'mkdir /vm && qemu-img create -q -f qcow2 -b "$1" -F raw "$2" && echo "$3" >"$4"'
        arguments = [qemu.BASE, qemu.DISK, base, _KEY_FILE]
        made = self._room.exec(["sh", "-c", script, "sh", *arguments])
        if made.status:
            raise InfrastructureError(f"the machine's disk was not made: {made.error_text.strip()}")
        for number, disk in enumerate(disks):
            self._room.put(disk, f"{qemu.SHOWN}/{number}")

    def _come_up(self) -> None:
        self._ready()
        self._was_up = True
        deadline = time.monotonic() + _SETTLE_SECONDS
        # An image without systemd has nothing to wait for (127).
        waiting = ["systemctl", "is-system-running", "--wait"]
        while time.monotonic() < deadline:
            said = self.exec(waiting, user="root", cwd="/", timeout=_SETTLE_SECONDS)
            if said.status == 127 or said.text.strip() in ("running", "degraded", "maintenance"):
                return
            time.sleep(0.2)

    def _ready(self) -> Channel:
        """The channel to an agent that answers; a machine that was switched off, or does not
        answer any more, is switched on again, once. Raises MachineLost."""
        with self._lock:
            for _ in range(2):
                if not self.alive:
                    raise InfrastructureError(f"sandbox {self.name} is not running")
                if self._engine is None:
                    self._engine = Engine(self._room, self._spec, self._port)
                engine = self._engine
                patience = _UP_SECONDS[self.accelerator]
                if self._was_up:
                    patience = min(patience, _UP_AGAIN_SECONDS)
                if engine.wait_for_agent(patience):
                    return engine.channel
                self._engine = None
                engine.kill()
                if engine.status not in (0, None, 137):
                    raise InfrastructureError(
                        f"QEMU ended with status {engine.status}: {engine.said}",
                        hint="benchflow doctor tries a machine",
                    )
            raise (MachineLost if self._was_up else InfrastructureError)(
                f"the machine {self.name} does not come up: {engine.said}"
            )

    def _switch_off(self, channel: Channel) -> None:
        with self._lock:
            if self._engine is not None and self._engine.channel is channel:
                self._engine.kill()
                self._engine = None

    def _reading(self) -> Channel:
        with self._lock:
            if self._reader is None:
                if not self._room.alive:
                    raise InfrastructureError(f"sandbox {self.name} and its files are gone")
                spec = replace(self._spec, files_only=True, limits=Limits(memory_mb=512, pids=None))
                self._reader = Engine(self._room, spec, None)
            if not self._reader.wait_for_agent(_UP_SECONDS[self.accelerator]):
                said = self._reader.said
                self._reader.kill()
                self._reader = None
                raise Unreadable(5, f"its disk cannot be read: {said}", self.name)
            return self._reader.channel

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _of_room(granted: Limits, spec: qemu.Spec, disks: Sequence[Path]) -> Limits:
    """What QEMU may use, so that its guest has what it was granted."""
    most = sum(disk.stat().st_size for disk in disks) >> 20
    return Limits(
        memory_mb=spec.memory_mb + qemu.OVERHEAD_MB,
        pids=1024,
        disk_mb=most + most // 64 + _DISK_SLACK,
        cpus=granted.cpus,
    )

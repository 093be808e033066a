"""Starting the helper of a sandbox, and the talk with it until process 1 is ready."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.errors import InfrastructureError
from benchflow.sandbox import cpu_contention, hardening, limits, network
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.inside import disk_limit, wire
from benchflow.sandbox.model import Image, Limits, Mount, Network, Usage

_SOURCE = Path(__file__).resolve().parents[2]
_HELPER = (
    f"import sys; sys.path.insert(0, {str(_SOURCE)!r}); "
    "from benchflow.sandbox.inside import launch; launch.main()"
)
_TIMEOUT = 60.0
LOG = "helper.log"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a sandbox is made from."""

    name: str
    image: Image
    state: Path
    id_map: IdMap
    network: Network
    mounts: tuple[Mount, ...]
    limits: Limits
    hostname: str
    workdir: str
    #: Only to read its files, in place of running anything: see `inside.mounts.build_files`.
    only_files: bool = False
    #: Devices of the host's, by their names in /dev, beside those that every sandbox has.
    devices: tuple[str, ...] = ()

    def spec(self) -> wire.Message:
        """The plan as the helper reads it."""
        return {
            "privileged": self.id_map.privileged,
            "only_files": self.only_files,
            "root_ids": [self.id_map.uid_base, self.id_map.gid_base],
            "layers": [str(layer) for layer in self.image.layers],
            "state": str(self.state / "fs"),
            "mounts": [
                {
                    "host": str(mount.host.absolute()),
                    "inside": mount.inside,
                    "read_only": mount.read_only,
                }
                for mount in self.mounts
            ],
            "devices": list(self.devices),
            "disk_limit": (self.limits.disk_mb or 0) * 1024 * 1024,
            "network": self.network,
            # Half of the memory, as the kernel's own default is: files there are memory.
            "shm": f"{(self.limits.memory_mb or 0) // 2}m" if self.limits.memory_mb else "50%",
            "slirp": list(network.slirp_command()) if self.network == "user" else [],
            "hostname": self.hostname,
            "workdir": self.workdir,
            "files": network.identity_files(self.hostname, self.network),
            "drop_capabilities": hardening.capability_bits(),
            "seccomp": hardening.seccomp_program().hex(),
            "mknod": hardening.MKNOD,
        }


@dataclass(slots=True)
class Running:
    """The living parts of a sandbox, as its owner holds them."""

    helper: subprocess.Popen[bytes]
    channel: socket.socket
    init_pid: int
    groups: limits.Groups
    device_nodes: str = ""
    memory_peak: int | None = None
    memory_kills: int | None = None
    cpu_seconds: float | None = None
    disk_peak_mb: float | None = None
    others_share: float | None = None
    begun: cpu_contention.Clock | None = field(default_factory=cpu_contention.Clock.now)

    def usage(self, state: Path) -> Usage:
        """Read the counters; the last values stay when the groups are gone."""
        peak, seconds = limits.memory_peak(self.groups), limits.cpu_seconds(self.groups)
        kills = limits.memory_kills(self.groups)
        self.memory_peak = self.memory_peak if peak is None else peak
        self.memory_kills = self.memory_kills if kills is None else kills
        if seconds is not None:
            self.cpu_seconds = seconds
            self.others_share = cpu_contention.taken(
                self.begun, cpu_contention.Clock.now(), seconds
            )
        return Usage(
            memory_peak_mb=None if self.memory_peak is None else self.memory_peak / 1048576,
            cpu_seconds=self.cpu_seconds,
            disk_mb=self._disk_peak(state),
            memory_kills=self.memory_kills,
            others_share=self.others_share,
        )

    def _disk_peak(self, state: Path) -> float | None:
        try:
            written = (state / "fs" / disk_limit.RECORD).read_text()
        except FileNotFoundError:  # nothing watched it, or it is deleted
            return self.disk_peak_mb
        self.disk_peak_mb = int(written.split()[0]) / 1048576
        return self.disk_peak_mb


def run(plan: Plan) -> Running:
    """Start a sandbox; what was begun is undone when it fails."""
    (plan.state / "fs").mkdir(exist_ok=True)
    # The ids inside make their own directories here; the directory above is closed to others.
    (plan.state / "fs").chmod(0o777)
    spec = plan.spec()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(_TIMEOUT)
    with theirs, (plan.state / LOG).open("wb") as log:
        helper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HELPER, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd="/",
            env={},
        )
    groups = limits.create_groups(plan.name, plan.limits)
    if plan.limits.disk_mb is not None:
        groups.report["disk"] = "enforced: measured every second; beyond it all commands are killed"
    try:
        wire.send_packet(ours, spec)
        _expect(ours, "map")
        plan.id_map.write(helper.pid)
        wire.send_packet(ours, {"mapped": True})
        init_pid: int = _expect(ours, "init")["init"]
        groups.attach(init_pid)
        wire.send_packet(ours, {"go": True})
        device_nodes = _expect(ours, "ready")["device_nodes"]
    except BaseException:
        ours.close()
        helper.kill()
        helper.wait()
        groups.remove()
        raise
    ours.settimeout(None)
    return Running(helper, ours, init_pid, groups, device_nodes)


def _expect(channel: socket.socket, key: str) -> wire.Message:
    try:
        message, _ = wire.receive_packet(channel)
    except (EOFError, ConnectionError, TimeoutError) as error:
        raise InfrastructureError(
            f"the sandbox did not start (it was asked for {key!r})",
            hint="run `benchflow doctor`",
        ) from error
    if key not in message:
        raise InfrastructureError(
            f"the sandbox did not start: {message.get('error', message)}",
            hint="run `benchflow doctor`",
        )
    return message

"""QEMU's command line, and where its parts are in the room (room/Dockerfile)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

from benchflow.sandbox.model import Limits, Network

KERNEL, INITRD = "/room/vmlinuz", "/room/initrd"
DISK = "/vm/disk.qcow2"
BASE = "/base/disk.raw"
SHOWN = "/vm/shown"
#: The guest's own network; the one around it, slirp4netns's, is 10.0.2.0/24.
_NET, _ROUTER, _DNS, _ADDRESS = "10.0.3.0/24", "10.0.3.2", "10.0.3.3", "10.0.3.15"
#: MiB for a guest whose task grants memory without a limit, and for QEMU beside its guest.
DEFAULT_MEMORY_MB = 2048
OVERHEAD_MB = 512
_SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
#: Units that would be at work for themselves: apt's would hold its lock.
_MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
    "e2scrub_reap.service", "fstrim.timer", "man-db.timer", "getty@tty1.service",
    "serial-getty@ttyS0.service", "systemd-timesyncd.service",
    "systemd-networkd-wait-online.service", "NetworkManager-wait-online.service",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spec:
    """What a machine is started with."""

    name: str
    key: bytes
    accelerator: str
    limits: Limits
    network: Network
    hostname: str
    #: Where each of the disks SHOWN/0, SHOWN/1 … is seen.
    shown: tuple[str, ...] = field(default=())
    #: Only to read its files: nothing of the disk's is run.
    files_only: bool = False
    #: Only to see whether its kernel starts: it has no disk, and switches itself off.
    probe: bool = False

    @property
    def memory_mb(self) -> int:
        return self.limits.memory_mb or DEFAULT_MEMORY_MB

    @property
    def cpus(self) -> int:
        return max(1, math.ceil(self.limits.cpus or 1))


def command(spec: Spec) -> list[str]:
    """The argument vector. Descriptor 0 is the agent's port, 1 the console, 2 takes complaints."""
    args = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"]
    args += ["-name", f"guest={spec.name.replace(',', '-')}", "-sandbox", _SANDBOX]
    args += ["-machine", "q35", "-accel", _accelerator(spec.accelerator)]
    args += ["-cpu", "host" if spec.accelerator == "kvm" else "max"]
    args += ["-smp", str(spec.cpus), "-m", f"{spec.memory_mb}M"]
    args += ["-kernel", KERNEL, "-initrd", INITRD, "-append", _kernel_line(spec)]
    args += ["-chardev", "socket,id=console,fd=1", "-serial", "chardev:console"]
    args += ["-chardev", "socket,id=port,fd=0", "-device", "virtio-serial-pci,max_ports=2"]
    args += ["-device", "virtserialport,chardev=port,name=benchflow"]
    args += ["-device", "virtio-rng-pci"]
    if spec.probe:
        return args
    args += _disk("disk", "qcow2", DISK, read_only=False)
    for index in range(0 if spec.files_only else len(spec.shown)):
        args += _disk(f"shown{index}", "raw", f"{SHOWN}/{index}", read_only=True)
    if spec.network == "user" and not spec.files_only:
        args += ["-netdev", f"user,id=net,ipv6=off,net={_NET},host={_ROUTER},dns={_DNS}"]
        args += ["-device", "virtio-net-pci,netdev=net,mac=52:54:00:62:66:01"]
    return args


def _accelerator(name: str) -> str:
    return "tcg,thread=multi,tb-size=256" if name == "tcg" else name


def _disk(node: str, driver: str, path: str, *, read_only: bool) -> list[str]:
    """Formats are named: QEMU never guesses one from what a guest wrote."""
    file = {"driver": "file", "filename": path, "read-only": read_only}
    block: dict[str, object] = {"driver": driver, "node-name": node, "file": file}
    block |= {"read-only": read_only}
    if driver == "qcow2":
        base = {"driver": "file", "filename": BASE, "read-only": True}
        block |= {"discard": "unmap", "detect-zeroes": "unmap"}
        block |= {"backing": {"driver": "raw", "read-only": True, "file": base}}
    device = {"driver": "virtio-blk-pci", "drive": node, "werror": "report"}
    return ["-blockdev", json.dumps(block), "-device", json.dumps(device)]


def _kernel_line(spec: Spec) -> str:
    words = ["console=ttyS0 quiet loglevel=1 panic=5 mitigations=off net.ifnames=0"]
    words += ["systemd.show_status=0 systemd.firstboot=0"]
    words += [f"systemd.mask={unit}" for unit in _MASKED]
    words += [f"benchflow.key={spec.key.hex()} benchflow.host={spec.hostname}"]
    words += [f"benchflow.pids={spec.limits.pids or 0}"]
    if spec.probe:
        words.append("benchflow.probe=1")
    if spec.files_only:
        words.append("benchflow.files=1")
    if spec.network == "user":
        words.append(
            f"benchflow.address={_ADDRESS} benchflow.router={_ROUTER} benchflow.dns={_DNS}"
        )
    if spec.shown:
        places = (f"vd{chr(ord('b') + n)}:{place}" for n, place in enumerate(spec.shown))
        words.append("benchflow.show=" + ",".join(places))
    return " ".join(words)

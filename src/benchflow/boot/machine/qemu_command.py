"""The QEMU command line of a machine, and nothing else: pure functions of a description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchflow.boot.errors import CheckMisuse
from benchflow.boot.machine.disks import Disk, Overlay, base_blockdev
from benchflow.boot.machine.firmware import board, pflash, program
from benchflow.boot.machine.nics import Nic

VARIABLES_NODE = "vars"
VMSTATE_NODE = "vmstate"
SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
_SMBIOS = (
    "type=0,vendor=American Megatrends,version=1.4.2",
    "type=1,manufacturer=Northwood,product=NW-2200,version=1.0",
    "type=2,manufacturer=Northwood,product=NW-2200 board",
    "type=3,manufacturer=Northwood",
)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What a machine is made of; see `Machine` for the meaning of each field."""

    arch: str = "x86_64"
    firmware: str = "bios"
    memory_mb: int = 512
    cpus: int = 1
    disks: Sequence[Disk] = ()
    cdrom: Path | None = None
    nics: Sequence[Nic] = ()
    kernel: Path | None = None
    initrd: Path | None = None
    append: str = ""
    extra_args: Sequence[str] = ()
    machine_type: str = ""
    cpu: str = ""
    rng: bool = True
    vga: bool | None = None

    def __post_init__(self) -> None:
        board(self.arch, self.firmware)
        if (self.firmware == "direct") != (self.kernel is not None):
            raise CheckMisuse('kernel=… and firmware="direct" belong together')
        if self.memory_mb < 16 or self.cpus < 1:
            raise CheckMisuse("a machine has at least 16 MiB of memory and 1 processor")
        if self.firmware == "uefi-secure" and self.machine_type not in ("", "q35"):
            raise CheckMisuse("secure boot needs the q35 machine")

    @property
    def machine(self) -> str:
        """QEMU's machine type."""
        return self.machine_type or board(self.arch, self.firmware).machine_type[self.firmware]

    @property
    def has_vga(self) -> bool:
        """Whether the machine has a screen: by default every PC that boots by its firmware."""
        if self.vga is not None:
            return self.vga
        return self.arch == "x86_64" and self.firmware != "direct"

    @property
    def has_ahci(self) -> bool:
        """Whether the board itself has a SATA controller."""
        return self.machine.startswith(("q35", "pc-q35"))

    @property
    def has_ide(self) -> bool:
        """Whether the board itself has an IDE controller."""
        return self.machine.startswith("pc") and not self.has_ahci


@dataclass
class Wiring:
    """What a run of QEMU is connected to: open file descriptors and the files of this machine."""

    serial_fd: int
    qmp_fd: int
    accelerator: str
    overlays: Sequence[Overlay] = ()
    variables: Path | None = None
    vmstate: Path | None = None
    lan_fds: dict[int, int] = field(default_factory=dict)
    number: int = 0  # of the machine in this verifier: its network cards' addresses
    load_kernel: bool = True
    sandbox: bool = True


def command(spec: Spec, wiring: Wiring) -> list[str]:
    """The exact argument vector. Raises QemuMissing, CheckMisuse."""
    args = [program(spec.arch), "-nodefaults", "-no-user-config", "-display", "none"]
    args += ["-machine", _machine(spec), "-accel", _accelerator(wiring.accelerator)]
    args += ["-cpu", spec.cpu or _cpu(spec, wiring.accelerator)]
    args += ["-smp", str(spec.cpus), "-m", f"{spec.memory_mb}M"]
    args += ["-chardev", f"socket,id=serial0,fd={wiring.serial_fd}", "-serial", "chardev:serial0"]
    args += ["-chardev", f"socket,id=qmp0,fd={wiring.qmp_fd}", "-mon", "chardev=qmp0,mode=control"]
    # The guest stops at each reset and power-off, and we go on from there (see guest.py): so the
    # console of one boot never mixes with the next, and a loop of reboots ends where we say.
    args += ["-action", "reboot=shutdown,shutdown=pause"]
    if wiring.sandbox:
        args += ["-sandbox", SANDBOX]
    if spec.arch == "x86_64":
        args += [word for text in _SMBIOS for word in ("-smbios", text)]
    args += _firmware(spec, wiring)
    args += _storage(spec, wiring)
    args += _network(spec, wiring)
    if spec.rng:
        args += ["-device", "virtio-rng-pci"]
    if spec.has_vga:
        args += ["-device", "VGA" if spec.arch == "x86_64" else "virtio-gpu-pci"]
    # Nothing runs before QMP listens: a guest that is through by then would have told nobody.
    args.append("-S")
    return [*args, *spec.extra_args]


def _machine(spec: Spec) -> str:
    if spec.firmware == "uefi-secure":
        return f"{spec.machine},smm=on"
    return spec.machine


def _accelerator(name: str) -> str:
    # 128 MiB for translated code instead of QEMU's default: one Debian server was up in 30 s
    # instead of 41 s (one run each, on the reference host).
    return "tcg,thread=multi,tb-size=128" if name == "tcg" else name


def _cpu(spec: Spec, accelerator: str) -> str:
    if accelerator == "kvm":
        return "host"
    if spec.arch == "x86_64":
        # Hiding the hypervisor bit and QEMU's names costs nothing; see docs/boot.md for what
        # a guest can still tell.
        return "max,hypervisor=off,model-id=Northwood NW-2200"
    # QEMU computes real pointer authentication very slowly; the simple cipher is for this.
    return "max,pauth-impdef=on" if spec.arch == "aarch64" else "rv64"


def _firmware(spec: Spec, wiring: Wiring) -> list[str]:
    args: list[str] = []
    flash = pflash(spec.arch, spec.firmware)
    if flash is not None and wiring.variables is not None:
        args += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={flash[0]}"]
        args += ["-blockdev", json.dumps(file_node(VARIABLES_NODE, wiring.variables))]
        args += ["-machine", f"pflash1={VARIABLES_NODE}"]
    if spec.firmware == "uefi-secure":
        args += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
    if spec.kernel is not None and wiring.load_kernel:
        args += ["-kernel", str(spec.kernel)]
        if spec.initrd is not None:
            args += ["-initrd", str(spec.initrd)]
        console = board(spec.arch, spec.firmware).serial
        args += ["-append", spec.append or f"console={console}"]
    return args


def _storage(spec: Spec, wiring: Wiring) -> list[str]:
    args: list[str] = []
    buses: set[str] = set()
    ports = {"ide": 0, "sata": 0}
    for index, overlay in enumerate(wiring.overlays):
        disk, node = overlay.disk, f"disk{index}"
        block = overlay.blockdev(node)
        if disk.read_only:
            block = {**base_blockdev(disk), "node-name": node}
        args += ["-blockdev", json.dumps(block)]
        args += _controller(spec, disk.bus, buses)
        device = {
            "drive": node,
            **({} if spec.kernel else {"bootindex": index}),
            "serial": disk.serial or (f"bf{index}" if disk.bus == "nvme" else ""),
            **_placement(spec, disk.bus, ports),
        }
        args += ["-device", json.dumps({key: val for key, val in device.items() if val != ""})]
    if spec.cdrom is not None:
        args += _cdrom(spec, len(wiring.overlays), buses)
    if wiring.vmstate is not None:
        args += ["-blockdev", json.dumps(file_node(VMSTATE_NODE, wiring.vmstate))]
    return args


def _controller(spec: Spec, bus: str, present: set[str]) -> list[str]:
    """The controller that the first disk of a bus brings with it."""
    if bus in present:
        return []
    present.add(bus)
    if bus == "ide" and not spec.has_ide:
        raise CheckMisuse(f"the machine {spec.machine} has no IDE controller; use bus='sata'")
    if bus == "sata" and not spec.has_ahci:
        return ["-device", "ahci,id=ahci0"]
    return {
        "scsi": ["-device", "virtio-scsi-pci,id=scsi0"],
        "usb": ["-device", "qemu-xhci,id=xhci0"],
    }.get(bus, [])


def _placement(spec: Spec, bus: str, ports: dict[str, int]) -> dict[str, Any]:
    if bus == "ide":
        # Channel 1 unit 0 stays free for the CD drive.
        slots = [(0, 0), (0, 1), (1, 1)]
        if ports["ide"] >= len(slots):
            raise CheckMisuse("a machine takes three IDE disks")
        channel, unit = slots[ports["ide"]]
        ports["ide"] += 1
        return {"driver": "ide-hd", "bus": f"ide.{channel}", "unit": unit}
    if bus == "sata":
        port = ports["sata"]
        ports["sata"] += 1
        if port > 4:
            raise CheckMisuse("a machine takes five SATA disks")
        return {"driver": "ide-hd", "bus": f"{'ide' if spec.has_ahci else 'ahci0'}.{port}"}
    return {
        "virtio": {"driver": "virtio-blk-pci"},
        "scsi": {"driver": "scsi-hd", "bus": "scsi0.0"},
        "nvme": {"driver": "nvme"},
        "usb": {"driver": "usb-storage", "bus": "xhci0.0"},
    }[bus]


def _cdrom(spec: Spec, bootindex: int, buses: set[str]) -> list[str]:
    assert spec.cdrom is not None
    node = base_blockdev(Disk(spec.cdrom)) | {"node-name": "cd0"}
    args = ["-blockdev", json.dumps(node)]
    if spec.has_ide:
        place = "ide-cd,bus=ide.1,unit=0"
    elif spec.has_ahci:
        place = "ide-cd,bus=ide.5"
    else:
        args += _controller(spec, "scsi", buses)
        place = "scsi-cd,bus=scsi0.0"
    order = "" if spec.kernel else f",bootindex={bootindex}"  # -kernel itself takes index 0
    return [*args, "-device", f"{place},drive=cd0{order}"]


def _network(spec: Spec, wiring: Wiring) -> list[str]:
    args: list[str] = []
    for index, nic in enumerate(spec.nics):
        if nic.lan is not None:
            backend = f"dgram,id=net{index},local.type=fd,local.str={wiring.lan_fds[index]}"
        else:
            # Host port 0: the kernel picks a free one, QMP tells which (see nics.py).
            forwards = "".join(f",hostfwd=tcp:127.0.0.1:0-:{port}" for port in nic.forwards)
            restrict = "on" if nic.restrict else "off"
            backend = f"user,id=net{index},restrict={restrict}{forwards}"
        mac = (
            nic.mac
            or f"52:54:00:{wiring.number >> 8:02x}:{wiring.number & 255:02x}:{index + 1:02x}"
        )
        args += ["-netdev", backend]
        args += ["-device", f"{nic.model},netdev=net{index},mac={mac}"]
    return args


def file_node(node: str, path: Path) -> dict[str, Any]:
    """The `-blockdev` description of a qcow2 file of our own."""
    return {
        "driver": "qcow2",
        "node-name": node,
        "file": {"driver": "file", "filename": str(path)},
    }

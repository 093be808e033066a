"""The Debian 12 packages that a verifier image needs, installed without recommendations."""

from __future__ import annotations

from benchflow.boot.milestones import ChecksError
from benchflow.boot.runner.manifest import ARCHES, FIRMWARES

_ALWAYS = (
    "python3",
    "python3-cryptography",
    "python3-pytest",
    # sfdisk; debugfs; mtools; xorriso: offline inspection
    "fdisk",
    "e2fsprogs",
    "mtools",
    "dosfstools",
    "xorriso",
    "xz-utils",
    "zstd",
    "lz4",
    "lzop",
    "bzip2",
    "cpio",
    # what checks talk to the guest with
    "openssh-client",
    "curl",
    "qemu-utils",
)
# ipxe-qemu: without the boot ROM of a NIC QEMU does not start. OpenSBI is part of QEMU's data.
_QEMU = {
    "x86_64": ("qemu-system-x86", "seabios", "ipxe-qemu"),
    "aarch64": ("qemu-system-arm", "ipxe-qemu"),
    "riscv64": ("qemu-system-misc", "ipxe-qemu"),
}
_UEFI = {"x86_64": ("ovmf",), "aarch64": ("qemu-efi-aarch64",), "riscv64": ()}


def packages(arch: str, firmware: str) -> list[str]:
    """The package names, sorted, for guests of `arch` that start by `firmware`.

    Raises ChecksError for an architecture or firmware that is unknown.
    """
    if arch not in ARCHES or firmware not in FIRMWARES:
        raise ChecksError(f"arch {arch!r} or firmware {firmware!r} is unknown")
    chosen = [*_ALWAYS, *_QEMU[arch]]
    if firmware == "uefi":
        chosen += _UEFI[arch]
    return sorted(chosen)

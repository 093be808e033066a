"""Machines boot by BIOS, UEFI and directly, on three architectures, to a login that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.virtual_machine import Machine
from guests import (
    LOGIN_INIT,
    PASSWD,
    build_bios_disk,
    build_initramfs,
    build_uefi_disk,
    debian_kernel,
)


def uname(machine: Machine) -> str:
    """What a root shell of a booted machine says of itself."""
    with machine:
        machine.boot().expect_kernel()
        return machine.login("root", "toor").run("uname -m; hostname").stdout


@pytest.mark.parametrize("bus", ["virtio", "ide"])
def test_a_pc_boots_a_disk_by_bios(tmp_path: Path, login_initrd: Path, bus: str) -> None:
    disk = build_bios_disk(tmp_path / "disk.img", debian_kernel(), login_initrd)
    machine = Machine(firmware="bios", disks=[Disk(disk, bus=bus)])  # type: ignore[arg-type]
    assert uname(machine) == "x86_64\ngw\n"


@pytest.mark.slow
@pytest.mark.parametrize("bus", ["virtio", "sata", "nvme", "scsi", "usb"])
def test_a_pc_boots_a_disk_by_uefi(tmp_path: Path, login_initrd: Path, bus: str) -> None:
    disk = build_uefi_disk(tmp_path / "disk.img", debian_kernel(), login_initrd)
    machine = Machine(firmware="uefi", disks=[Disk(disk, bus=bus)])  # type: ignore[arg-type]
    assert uname(machine) == "x86_64\ngw\n"


@pytest.mark.needs("qemu", "guests")
@pytest.mark.slow
def test_an_arm_board_boots_a_disk_by_uefi(tmp_path: Path) -> None:
    initrd = build_initramfs(tmp_path / "i.gz", LOGIN_INIT, arch="aarch64", files=PASSWD)
    kernel = debian_kernel("aarch64")
    disk = build_uefi_disk(tmp_path / "disk.img", kernel, initrd, arch="aarch64")
    machine = Machine(arch="aarch64", firmware="uefi", disks=[Disk(disk)])
    assert uname(machine) == "aarch64\ngw\n"


@pytest.mark.needs("qemu", "guests")
@pytest.mark.slow
@pytest.mark.parametrize("arch", ["aarch64", "riscv64"])
def test_a_kernel_boots_directly(tmp_path: Path, arch: str) -> None:
    initrd = build_initramfs(tmp_path / "i.gz", LOGIN_INIT, arch=arch, files=PASSWD)
    machine = Machine(arch=arch, firmware="direct", kernel=debian_kernel(arch), initrd=initrd)
    assert uname(machine) == f"{arch}\ngw\n"


@pytest.mark.slow
def test_secure_boot_refuses_what_nobody_signed(tmp_path: Path, login_initrd: Path) -> None:
    disk = build_uefi_disk(tmp_path / "disk.img", debian_kernel(), login_initrd)
    with Machine(firmware="uefi-secure", disks=[Disk(disk)]) as machine:
        machine.boot()
        machine.expect("Access Denied|Security Violation", timeout=60)

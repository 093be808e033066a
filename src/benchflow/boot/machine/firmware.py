"""Which QEMU program, board, processor and firmware belong to an architecture."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchflow.boot.errors import CheckMisuse, QemuMissing

Arch = Literal["x86_64", "aarch64", "riscv64"]
Firmware = Literal["bios", "uefi", "uefi-secure", "direct"]


@dataclass(frozen=True)
class Board:
    """What an architecture's machines have in common."""

    program: str
    package: str
    machine_type: dict[str, str]
    serial: str
    pci: bool = True


BOARDS: dict[str, Board] = {
    "x86_64": Board(
        "qemu-system-x86_64",
        "qemu-system-x86",
        {"bios": "pc", "uefi": "q35", "uefi-secure": "q35", "direct": "pc"},
        "ttyS0",
    ),
    "aarch64": Board(
        "qemu-system-aarch64", "qemu-system-arm", {"uefi": "virt", "direct": "virt"}, "ttyAMA0"
    ),
    "riscv64": Board("qemu-system-riscv64", "qemu-system-misc", {"direct": "virt"}, "ttyS0"),
}

# (code, variables): the first pair that is installed is used.
_PFLASH: dict[tuple[str, str], tuple[str, list[tuple[str, str]]]] = {
    ("x86_64", "uefi"): (
        "ovmf",
        [("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd")],
    ),
    ("x86_64", "uefi-secure"): (
        "ovmf",
        [("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd")],
    ),
    ("aarch64", "uefi"): (
        "qemu-efi-aarch64",
        [("/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd")],
    ),
}


def board(arch: str, firmware: str) -> Board:
    """The board of `arch`; raises CheckMisuse for a pair that does not exist."""
    if arch not in BOARDS:
        raise CheckMisuse(f"arch={arch!r}: one of {', '.join(BOARDS)}")
    found = BOARDS[arch]
    if firmware not in found.machine_type:
        known = ", ".join(found.machine_type)
        raise CheckMisuse(f"firmware={firmware!r} does not exist for {arch}: one of {known}")
    return found


def program(arch: str) -> str:
    """The path of the QEMU program of `arch`; raises QemuMissing."""
    wanted = BOARDS[arch]
    path = shutil.which(wanted.program)
    if path is None:
        raise QemuMissing(f"{wanted.program} is not installed (Debian package {wanted.package})")
    return path


def pflash(arch: str, firmware: str) -> tuple[Path, Path] | None:
    """The UEFI code and its pristine variables, or None for other firmware."""
    if (arch, firmware) not in _PFLASH:
        return None
    package, pairs = _PFLASH[arch, firmware]
    for code, variables in pairs:
        if Path(code).is_file() and Path(variables).is_file():
            return Path(code), Path(variables)
    raise QemuMissing(f"the UEFI firmware for {arch} is not installed (Debian package {package})")


def native(arch: str) -> bool:
    """Whether the host's processor is of this architecture."""
    return platform.machine() == arch

"""Boots machines and proves things about them; also runs inside the verifier (Python 3.11).

The names below are what checks use; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchflow.boot.inspect.archive import Tar, decompress
    from benchflow.boot.inspect.cpio import Initramfs
    from benchflow.boot.inspect.deliverable import Deliverable
    from benchflow.boot.inspect.elf import Elf, is_elf, strings
    from benchflow.boot.inspect.filesystem import Entry
    from benchflow.boot.inspect.image import Image
    from benchflow.boot.inspect.kernel_image import kernel_banner, kernel_release, unpack_kernel
    from benchflow.boot.inspect.partitions import Partition
    from benchflow.boot.machine.virtual_machine import Disk, Machine, Nic

    from .errors import (
        BadDeliverable,
        BootError,
        CheckMisuse,
        CommandFailed,
        CommandTimeout,
        ConsoleFlood,
        GuestError,
        GuestExited,
        GuestOverrun,
        GuestPanic,
        GuestRebooted,
        GuestTimeout,
        LoginFailed,
        NoSpace,
        QemuFailed,
        QemuMissing,
        RebootLoop,
        ShellBroken,
        ToolMissing,
        VerifierBroken,
    )
    from .milestones import ChecksError, CheckSpec, MilestoneSpec, check, milestone
    from .observer import Observer

_HOMES = {
    "BadDeliverable": "errors",
    "BootError": "errors",
    "CheckMisuse": "errors",
    "CheckSpec": "milestones",
    "ChecksError": "milestones",
    "CommandFailed": "errors",
    "CommandTimeout": "errors",
    "ConsoleFlood": "errors",
    "Deliverable": "inspect.deliverable",
    "Disk": "machine.virtual_machine",
    "Elf": "inspect.elf",
    "Entry": "inspect.filesystem",
    "GuestError": "errors",
    "GuestExited": "errors",
    "GuestOverrun": "errors",
    "GuestPanic": "errors",
    "GuestRebooted": "errors",
    "GuestTimeout": "errors",
    "Image": "inspect.image",
    "Initramfs": "inspect.cpio",
    "LoginFailed": "errors",
    "Machine": "machine.virtual_machine",
    "MilestoneSpec": "milestones",
    "Nic": "machine.virtual_machine",
    "NoSpace": "errors",
    "Observer": "observer",
    "Partition": "inspect.partitions",
    "QemuFailed": "errors",
    "QemuMissing": "errors",
    "RebootLoop": "errors",
    "ShellBroken": "errors",
    "Tar": "inspect.archive",
    "ToolMissing": "errors",
    "VerifierBroken": "errors",
    "check": "milestones",
    "decompress": "inspect.archive",
    "is_elf": "inspect.elf",
    "kernel_banner": "inspect.kernel_image",
    "kernel_release": "inspect.kernel_image",
    "milestone": "milestones",
    "strings": "inspect.elf",
    "unpack_kernel": "inspect.kernel_image",
}

__all__ = [
    "BadDeliverable",
    "BootError",
    "CheckMisuse",
    "CheckSpec",
    "ChecksError",
    "CommandFailed",
    "CommandTimeout",
    "ConsoleFlood",
    "Deliverable",
    "Disk",
    "Elf",
    "Entry",
    "GuestError",
    "GuestExited",
    "GuestOverrun",
    "GuestPanic",
    "GuestRebooted",
    "GuestTimeout",
    "Image",
    "Initramfs",
    "LoginFailed",
    "Machine",
    "MilestoneSpec",
    "Nic",
    "NoSpace",
    "Observer",
    "Partition",
    "QemuFailed",
    "QemuMissing",
    "RebootLoop",
    "ShellBroken",
    "Tar",
    "ToolMissing",
    "VerifierBroken",
    "check",
    "decompress",
    "is_elf",
    "kernel_banner",
    "kernel_release",
    "milestone",
    "strings",
    "unpack_kernel",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

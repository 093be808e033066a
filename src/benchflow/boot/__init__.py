"""Boots machines and proves things about them; also runs inside the verifier (Python 3.11).

The names below are what checks use; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archive import Tar, decompress
    from .cpio import Initramfs
    from .deliverable import Deliverable
    from .elf import Elf, is_elf, strings
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
    from .filesystem import Entry
    from .image import Image
    from .kernel_image import kernel_banner, kernel_release, unpack_kernel
    from .machine import Disk, Machine, Nic
    from .milestones import ChecksError, CheckSpec, MilestoneSpec, check, milestone
    from .observer import Observer
    from .partitions import Partition

_HOMES = {
    "BadDeliverable": "errors",
    "BootError": "errors",
    "CheckMisuse": "errors",
    "CheckSpec": "milestones",
    "ChecksError": "milestones",
    "CommandFailed": "errors",
    "CommandTimeout": "errors",
    "ConsoleFlood": "errors",
    "Deliverable": "deliverable",
    "Disk": "machine",
    "Elf": "elf",
    "Entry": "filesystem",
    "GuestError": "errors",
    "GuestExited": "errors",
    "GuestOverrun": "errors",
    "GuestPanic": "errors",
    "GuestRebooted": "errors",
    "GuestTimeout": "errors",
    "Image": "image",
    "Initramfs": "cpio",
    "LoginFailed": "errors",
    "Machine": "machine",
    "MilestoneSpec": "milestones",
    "Nic": "machine",
    "NoSpace": "errors",
    "Observer": "observer",
    "Partition": "partitions",
    "QemuFailed": "errors",
    "QemuMissing": "errors",
    "RebootLoop": "errors",
    "ShellBroken": "errors",
    "Tar": "archive",
    "ToolMissing": "errors",
    "VerifierBroken": "errors",
    "check": "milestones",
    "decompress": "archive",
    "is_elf": "elf",
    "kernel_banner": "kernel_image",
    "kernel_release": "kernel_image",
    "milestone": "milestones",
    "strings": "elf",
    "unpack_kernel": "kernel_image",
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

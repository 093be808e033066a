"""Boots machines and proves things about them; also runs inside the verifier (Python 3.11).

The names below are what checks use; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .deliverable import Deliverable
    from .errors import (
        BadDeliverable,
        BootError,
        CheckMisuse,
        CommandFailed,
        CommandTimeout,
        GuestError,
        GuestExited,
        GuestPanic,
        GuestRebooted,
        GuestTimeout,
        LoginFailed,
        VerifierBroken,
    )
    from .image import Image
    from .machine import Disk, Machine, Nic
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
    "Deliverable": "deliverable",
    "Disk": "machine",
    "GuestError": "errors",
    "GuestExited": "errors",
    "GuestPanic": "errors",
    "GuestRebooted": "errors",
    "GuestTimeout": "errors",
    "Image": "image",
    "LoginFailed": "errors",
    "Machine": "machine",
    "MilestoneSpec": "milestones",
    "Nic": "machine",
    "Observer": "observer",
    "VerifierBroken": "errors",
    "check": "milestones",
    "milestone": "milestones",
}

__all__ = [
    "BadDeliverable",
    "BootError",
    "CheckMisuse",
    "CheckSpec",
    "ChecksError",
    "CommandFailed",
    "CommandTimeout",
    "Deliverable",
    "Disk",
    "GuestError",
    "GuestExited",
    "GuestPanic",
    "GuestRebooted",
    "GuestTimeout",
    "Image",
    "LoginFailed",
    "Machine",
    "MilestoneSpec",
    "Nic",
    "Observer",
    "VerifierBroken",
    "check",
    "milestone",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
